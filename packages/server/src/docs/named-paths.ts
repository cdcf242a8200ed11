/** Paths that a page names in backticks. Pure; generate.ts knows the files. */

const named = /`([\w@.-]+(?:\/[\w@.-]+)*\/?)`/g
const file = /^[\w.-]+(?:\/[\w.-]+)+\.(?:ts|mjs|md|json)$/
const folder = /^[\w.-]+(?:\/[\w.-]+)*\/$/

/** The files and folders that a page names: what has a slash and ends as a file does, or ends with a slash. */
export function namedPaths(page: string): string[] {
  const paths = [...page.matchAll(named)].map(([, path]) => path as string)
  return [...new Set(paths.filter((path) => file.test(path) || folder.test(path)))]
}

/** @returns a line for each path that the page names and that is not there */
export function missingPaths(
  name: string,
  page: string,
  exists: (path: string) => boolean,
): string[] {
  return namedPaths(page)
    .filter((path) => !exists(path))
    .map((path) => `${name} names ${path}, which does not exist`)
}
