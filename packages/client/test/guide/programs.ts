/** The programs of the guides of the client and of README.md, and a folder in which they run. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { TempFolder } from '@hermod/testkit'

const root = join(import.meta.dirname, '../../../..')

/** The text of docs/guides/client.md. */
export const guide = readFileSync(join(root, 'docs/guides/client.md'), 'utf8')
const readme = readFileSync(join(root, 'README.md'), 'utf8')

/** A block of code begins with a comment that names its file. */
const block = /^```(?:html|js|ts|tsx|vue|svelte)\n(?:\/\/|<!--) (\S+)(?: -->)?\n(.*?)^```$/gms

/** Returns the programs of a text by the names of their files. */
export function programsOf(text: string): ReadonlyMap<string, string> {
  return new Map([...text.matchAll(block)].map(([, name = '', program = '']) => [name, program]))
}

/** The programs of the guide and of the README. */
export const programs = programsOf(`${guide}\n${readme}`)

/** Returns the programs of the page of a framework. */
export function programsOfPage(framework: string): ReadonlyMap<string, string> {
  return programsOf(readFileSync(join(root, `docs/guides/client-${framework}.md`), 'utf8'))
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
