import { readFileSync } from 'node:fs'

/** The comment that a module stands under in the bundle, see scripts/bundle.mjs. */
const heading = /^\/\/ (packages\/\S+\.js)$/
const ownFolder = 'packages/server/dist/'

/** Tells which module a line of the bundle was made of. Reads each file of it once; for development and tests. */
export class BundledModules {
  /** For each line of a file, counted from 0, the module that it belongs to. */
  readonly #files = new Map<string, readonly (string | null)[]>()

  /** @param root the folder of the build, with `bundle` in it */
  constructor(private readonly root: string) {}

  /**
   * @param place a file below the root with a line counted from 1, as on a stack: `bundle/main.js:12:3`
   * @returns the path of the module below the root; null for modules of other packages, and for what is not of the bundle
   */
  at(place: string): string | null {
    const [, file, line] = /^(bundle\/[^:]+):(\d+)/.exec(place) ?? []
    if (file === undefined) return null
    const known = this.#files.get(file) ?? modulesByLine(readFileSync(this.root + file, 'utf8'))
    this.#files.set(file, known)
    return known[Number(line) - 1] ?? null
  }
}

/** @returns for each line of the text the module of ours that it belongs to */
export function modulesByLine(text: string): readonly (string | null)[] {
  let current: string | null = null
  return text.split('\n').map((line) => {
    const [, path] = heading.exec(line) ?? []
    if (path !== undefined)
      current = path.startsWith(ownFolder) ? path.slice(ownFolder.length) : null
    return current
  })
}
