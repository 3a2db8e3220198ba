// The one place that knows the library: templates, state and effects for every other file.
import { h, render, Fragment } from "./vendor/preact.js";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);
export { render, Fragment, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState };

/** Names that hold, joined for `class`. */
export function classes(...names) {
  return names.filter(Boolean).join(" ");
}
