// What the browser remembers of a user's choices.

export function kept(name) {
  try {
    return localStorage.getItem(`tributary.${name}`);
  } catch {
    return null;
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(`tributary.${name}`, value);
  } catch {
    // a private window forgets
  }
}
