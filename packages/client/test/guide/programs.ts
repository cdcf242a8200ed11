/** The programs of docs/guides/client.md and README.md, in a folder in which they run. */
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { TempFolder } from '@hermod/testkit'

const root = join(import.meta.dirname, '../../../..')

/** The text of the guide. */
export const guide = readFileSync(join(root, 'docs/guides/client.md'), 'utf8')
const readme = readFileSync(join(root, 'README.md'), 'utf8')

/** A block of code begins with a comment that names its file. */
const block = /^```(?:html|js|ts|tsx)\n(?:\/\/|<!--) (\S+)(?: -->)?\n(.*?)^```$/gms

/** Texts by file name. */
export const programs: ReadonlyMap<string, string> = new Map(
  [...`${guide}\n${readme}`.matchAll(block)].map(([, name = '', text = '']) => [name, text]),
)

/** A folder with all programs and the installed package. */
export class GuideFolder extends TempFolder {
  readonly #modules: string

  constructor() {
    super('client-guide')
    this.#modules = join(this.path, 'node_modules')
    symlinkSync(join(root, 'node_modules'), this.#modules)
    for (const [name, text] of programs) this.write(name, text)
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.path, name), text)
  }

  override [Symbol.dispose](): void {
    rmSync(this.#modules)
    super[Symbol.dispose]()
  }
}
