/** Links between the pages of the repository. Pure; generate.ts reads the files. */
import { posix } from 'node:path'

const link = /\]\(([^)\s]+)\)/g
const heading = /^#+ (.+)$/gm
const block = /^```[\s\S]*?^```/gm

/** The anchor that common Markdown renderers give a heading. */
export function anchorOf(heading: string): string {
  return heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
}

/**
 * @param pages by their paths in the repository
 * @param exists whether a path of the repository is a file or folder
 * @returns a line for each link to a missing file or heading
 */
export function brokenLinks(
  pages: Readonly<Record<string, string>>,
  exists: (path: string) => boolean,
): string[] {
  const anchors = new Map(Object.entries(pages).map(([path, text]) => [path, anchorsOf(text)]))
  return Object.entries(pages).flatMap(([path, text]) =>
    [...withoutBlocks(text).matchAll(link)]
      .map(([, target]) => target as string)
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => {
        const [file = '', anchor] = target.split('#')
        const to = file === '' ? path : posix.join(posix.dirname(path), file)
        const isAnchored = anchor === undefined || (anchors.get(to)?.has(anchor) ?? true)
        return !exists(to) || !isAnchored
      })
      .map((target) => `${path} links to ${target}, which does not exist`),
  )
}

/** The anchors of a page; a heading that repeats has a number after its anchor. */
function anchorsOf(page: string): ReadonlySet<string> {
  const counts = new Map<string, number>()
  const anchors = [...withoutBlocks(page).matchAll(heading)].map(([, name]) => {
    const anchor = anchorOf(name as string)
    const count = counts.get(anchor) ?? 0
    counts.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
  return new Set(anchors)
}

function withoutBlocks(page: string): string {
  return page.replace(block, '')
}
