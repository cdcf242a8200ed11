/**
 * Blocks of code of the pages, and how each is run. A comment that readers do not see says so,
 * before the block or, for all blocks of the page, before its first heading. Pure; page-blocks.ts
 * reads the files.
 */

/** `run`: the path of the test that runs the block. `not run`: the reason. `file`: see {@link Block.file}. */
type MarkKind = 'run' | 'not run' | 'file'

export interface Block {
  /** The path of the page in the repository. */
  readonly page: string
  /** The number of its first line of code. */
  readonly line: number
  /** The word after the fence; "": none. */
  readonly language: string
  readonly text: string
  /** The path of the test that runs it. */
  readonly test?: string | undefined
  /** The reason why no test runs it. */
  readonly reason?: string | undefined
  /** The name under which readers save it, from a mark or from a comment in its first line. */
  readonly file?: string | undefined
}

/** Languages of figures, samples and outputs, which nothing runs. */
const silent: ReadonlySet<string> = new Set(['', 'text', 'json', 'csv', 'ini', 'yaml'])
const fence = /^( *)```(\w*)/
const marked = /^ *<!-- (run|not run|file): (.+) -->$/
const pathInReason = /(?:deploy|packages|scripts)\/[\w./-]+/g
const named = /^(?:\/\/|#|<!--) ([\w./-]+\.\w+)(?: -->)?\n/

/** Returns the blocks of a page in their order. */
export function blocksOf(page: string, text: string): Block[] {
  const reader = new PageReader(page)
  text.split('\n').forEach((line, index) => {
    reader.take(line, index + 1)
  })
  return reader.blocks
}

class PageReader {
  readonly blocks: Block[] = []
  readonly #ofPage = new Map<MarkKind, string>()
  readonly #next = new Map<MarkKind, string>()
  #isInText = false
  #open: { indent: string; language: string; line: number; lines: string[] } | null = null

  constructor(readonly page: string) {}

  take(line: string, number: number): void {
    if (this.#open) {
      this.#takeCode(line)
      return
    }
    const mark = marked.exec(line)
    const [, indent, language] = fence.exec(line) ?? []
    if (mark) {
      const marks = this.#isInText ? this.#next : this.#ofPage
      marks.set(mark[1] as MarkKind, mark[2] as string)
    } else if (indent !== undefined && language !== undefined)
      this.#open = { indent, language, line: number + 1, lines: [] }
    else if (!/^(?:<!--.*-->)?\s*$/.test(line)) {
      this.#isInText = true
      this.#next.clear()
    }
  }

  #takeCode(line: string): void {
    const { indent, language, line: first, lines } = this.#open ?? failure()
    if (line.trimEnd() !== `${indent}\`\`\``) {
      lines.push(line.startsWith(indent) ? line.slice(indent.length) : line)
      return
    }
    const text = lines.map((each) => `${each}\n`).join('')
    const isOwn = this.#next.has('run') || this.#next.has('not run')
    const marks = isOwn ? this.#next : this.#ofPage
    this.blocks.push({
      page: this.page,
      line: first,
      language,
      text,
      test: marks.get('run'),
      reason: marks.get('not run'),
      file: this.#next.get('file') ?? named.exec(text)?.[1],
    })
    this.#open = null
    this.#next.clear()
  }
}

function failure(): never {
  throw new Error('no block is open')
}

/** @returns the text of a block without the comment that names its file */
export function programOf({ text }: Block): string {
  return text.replace(named, '')
}

/** Whether a reader could run the block. */
export function isRunnable({ language }: Block): boolean {
  return !silent.has(language)
}

/**
 * @param exists whether a path of the repository is a file or folder
 * @returns a line for each block without a mark, with two, or with a test that does not exist
 */
export function badBlocks(blocks: readonly Block[], exists: (path: string) => boolean): string[] {
  return blocks.filter(isRunnable).flatMap((block) => {
    const { page, line, test, reason } = block
    const place = `${page}:${line}: this block`
    if (test === undefined && reason === undefined)
      return [`${place} has no mark: <!-- run: the path of a test --> or <!-- not run: reason -->`]
    if (test !== undefined && reason !== undefined)
      return [`${place} has two marks, run and not run`]
    const missing = (reason?.match(pathInReason) ?? []).filter((path) => !exists(path))
    if (missing.length > 0) return [`${place} names ${missing.join()}, which does not exist`]
    if (test !== undefined && !(/\.test\.(?:ts|mjs)$/.test(test) && exists(test)))
      return [`${place} names the test ${test}, which does not exist`]
    return []
  })
}

/** Lists the runnable blocks, and how each is run; a line for each test or reason of a page. */
export function listedBlocks(blocks: readonly Block[]): string {
  const groups = new Map<string, Block[]>()
  for (const block of blocks.filter(isRunnable)) {
    const how = block.test === undefined ? `not run: ${block.reason}` : `run: ${block.test}`
    const key = `${block.page}\n  ${how}`
    groups.set(key, [...(groups.get(key) ?? []), block])
  }
  const sorted = [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return sorted
    .map(([key, group]) => {
      const lines = group.map(({ line, language }) => `${language} ${line}`).join(', ')
      return `${key}\n    ${group.length}: ${lines}\n`
    })
    .join('')
}
