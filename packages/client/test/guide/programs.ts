/** The programs of the guides of the client and of README.md, and a folder in which they run. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { TempFolder } from '@hermod/testkit'
import { programOf } from '../../../../scripts/docs/src/blocks.js'
import { blocksRunBy } from '../../../../scripts/docs/src/page-blocks.js'

const root = join(import.meta.dirname, '../../../..')

/** The text of docs/guides/client.md. */
export const guide = readFileSync(join(root, 'docs/guides/client.md'), 'utf8')

/** Returns the programs that are marked for a test by the names of their files; '' = without one. */
function programsOf(test: string, page?: string): ReadonlyMap<string, string> {
  const blocks = blocksRunBy(join(import.meta.dirname, test))
  const chosen = blocks.filter((block) => page === undefined || block.page === page)
  return new Map(chosen.map((block) => [block.file ?? '', programOf(block)]))
}

/** The programs of the guide and of the README. */
export const programs = programsOf('guide.test.ts')

/** Returns the programs of the page of a framework. */
export function programsOfPage(framework: string): ReadonlyMap<string, string> {
  return programsOf('frameworks.test.ts', `docs/guides/client-${framework}.md`)
}

/** A folder for programs, with the installed package. */
export class GuideFolder extends TempFolder {
  readonly #modules: string

  constructor() {
    super('client-guide')
    this.#modules = join(this.path, 'node_modules')
    symlinkSync(join(root, 'node_modules'), this.#modules)
  }

  write(name: string, text: string): void {
    const file = join(this.path, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }

  override [Symbol.dispose](): void {
    rmSync(this.#modules)
    super[Symbol.dispose]()
  }
}
