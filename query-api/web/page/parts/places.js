// Where in a text its pictures stand.

/** Links of pictures that this server keeps. */
export const KEPT = /^\/v1\/images\/[0-9a-f]{64}$/;

/** `![alt](destination)`, as texts name their pictures: by a number within the document, or by a link. */
const NAMED = /!\[([^\]]*)\]\(([^()\s]+)\)/g;

/** The links of the pictures that texts name, by what they name: both are in the same order, each once. Nothing where they do not match. */
export function placesOf(texts, links = []) {
  const named = [...new Set(texts.flatMap((text) => [...text.matchAll(NAMED)].map(([, , destination]) => destination)))];
  const pairs = named.length === links.length ? named.map((destination, at) => [destination, links[at]]) : [];
  return new Map(pairs.filter(([, link]) => KEPT.test(link)));
}

/** The text with its pictures by their links, so that they are shown where they stand. */
export const withPictures = (text, places) =>
  text.replace(NAMED, (whole, alt, destination) => (places.has(destination) ? `![${alt}](${places.get(destination)})` : whole));

/** The links that stand nowhere in a text. */
export const withoutPlace = (links = [], places) => links.filter((link) => ![...places.values()].includes(link));
