/** Paths in the backticks of pages and the comments of sources. Pure; generate.ts knows the files. */
import { posix } from 'node:path'

const named = /`([\w@.-]+(?:\/[\w@.-]+)*\/?)`/g
const file = /^[\w.-]+(?:\/[\w.-]+)+\.(?:ts|mjs|md|json)$/
const comment = /\/\*[\s\S]*?\*\/|(?<![:\w'"`/])\/\/.*$/gm
const namedFile = /(?<![\w@./<>*-])(?:\.{1,2}\/)*[\w@][\w@./-]*\.(?:ts|mjs|md)\b/g
const folder = /^[\w.-]+(?:\/[\w.-]+)*\/$/

/** The files and folders that a page names: texts with a slash that end like a file or with a slash. */
export function namedPaths(page: string): string[] {
  const paths = [...page.matchAll(named)].map(([, path]) => path as string)
  return [...new Set(paths.filter((path) => file.test(path) || folder.test(path)))]
}

/** @returns a line for each missing path that the page names */
export function missingPaths(
  name: string,
  page: string,
  exists: (path: string) => boolean,
): string[] {
  return namedPaths(page)
    .filter((path) => !exists(path))
    .map((path) => `${name} names ${path}, which does not exist`)
}

/**
 * The files that the comments of a source name: `locking.ts` as well as `db/locking.ts` and
 * `./render.ts`.
 */
export function commentedFiles(source: string): string[] {
  const comments = [...source.matchAll(comment)].map(([text]) => text)
  return [...new Set(comments.flatMap((text) => text.match(namedFile) ?? []))]
}

/**
 * @param files the paths of all files; a name in a comment is the end of one of them, or begins
 * with `./` or `../` and is relative
 *   to its source
 * @returns a line for each missing file that a comment names
 */
export function missingCommentedFiles(
  sources: readonly { readonly path: string; readonly text: string }[],
  files: readonly string[],
): string[] {
  const paths = new Set(files.map(slashed))
  const ends = new Set(files.flatMap(endsOf))
  return sources.flatMap(({ path, text }) =>
    commentedFiles(text).flatMap((named) => {
      const isRelative = named.startsWith('.')
      const target = isRelative ? posix.join(posix.dirname(slashed(path)), named) : named
      if (target.startsWith('../'))
        return `${path} names ${named} in a comment, which is outside the repository`
      if ((isRelative ? paths : ends).has(target)) return []
      return `${path} names ${named} in a comment, which does not exist`
    }),
  )
}

function slashed(path: string): string {
  return path.replaceAll('\\', '/')
}

/** The path, and its ends without the first folders. */
function endsOf(path: string): string[] {
  const parts = slashed(path).split('/')
  return parts.map((_, index) => parts.slice(index).join('/'))
}
