/** The shell of a reader who follows a page: a folder like a checkout, a service, and bash. */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  Child,
  freePort,
  type ServerProcess,
  startServer,
  TempFolder,
  waitFor,
} from '@hermod/testkit'
import type { Block } from '../../../../../scripts/docs/src/blocks.js'
import { hermodEnvironment, hermodScript } from '../hermod-command.js'

const root = resolve(import.meta.dirname, '../../../../..')
const ofCheckout = ['node_modules', 'packages', 'examples', 'package.json']
const ended = '--- the shell ended'
const kill = 'kill -9 "$(cat data/hermod.pid)"'

/** Starts `hermod` as npx does, without the half second that npx takes for itself. */
const npx = `#!/bin/sh
if [ "$1" = hermod ]; then shift; exec "${process.execPath}" "${hermodScript}" "$@"; fi
exec "${join(process.execPath, '../npx')}" "$@"
`

export interface GuideShellOptions {
  /** Settings of the service. */
  readonly env?: Readonly<Record<string, string>>
  /** Absolute folders of the page that lie in the folder of the shell, such as `/mnt/`. */
  readonly folders?: readonly string[]
  /** Texts of the page, and what stands for them here. */
  readonly replace?: Readonly<Record<string, string>>
}

export class GuideShell implements AsyncDisposable {
  readonly #bash: Child
  readonly #replace: [string, string][]
  readonly #env: NodeJS.ProcessEnv
  readonly #children: Child[] = []
  #blocks = 0

  private constructor(
    readonly folder: TempFolder,
    public server: ServerProcess,
    { replace = {}, folders = [] }: GuideShellOptions,
  ) {
    this.#replace = [
      ...Object.entries({ '127.0.0.1:8080': new URL(server.url).host, ...replace }),
      ...folders.map((each): [string, string] => [each, join(folder.path, each)]),
    ]
    const path = `${join(folder.path, '.bin')}:${process.env.PATH}`
    const quiet = { npm_config_update_notifier: 'false', NO_COLOR: '1' }
    this.#env = { ...hermodEnvironment({}), ...quiet, PATH: path }
    this.#bash = new Child(['bash'], { cwd: folder.path, env: this.#env, takesInput: true })
    this.#bash.write(`exec 2>&1; set -eo pipefail; trap 'echo; echo "${ended}"' EXIT`)
  }

  /** Starts a service with the application `hermod`, whose data folder is `data`. */
  static async start(options: GuideShellOptions = {}): Promise<GuideShell> {
    const folder = new TempFolder('guide')
    for (const name of ofCheckout) symlinkSync(join(root, name), join(folder.path, name))
    mkdirSync(join(folder.path, '.bin'))
    writeFileSync(join(folder.path, '.bin/npx'), npx)
    chmodSync(join(folder.path, '.bin/npx'), 0o755)
    const server = await startServer({
      appId: 'hermod',
      dataDir: join(folder.path, 'data'),
      port: await freePort(),
      ...(options.env && { env: options.env }),
    })
    return new GuideShell(folder, server, options)
  }

  /** Lets another text stand for one of the page from now on. */
  replace(from: string, to: string): void {
    this.#replace.unshift([from, to])
  }

  /** Runs what the page asks for in words. */
  async do(text: string): Promise<string> {
    return this.run({ page: 'the test', line: this.#blocks, text })
  }

  /** Saves a text under a name in the folder, as a reader does. */
  write(name: string, text: string): void {
    writeFileSync(join(this.folder.path, name), this.#here(text))
  }

  /**
   * Runs a block to its end, in the same shell as those before.
   * @returns its output
   * @throws Error when a command of it fails
   */
  async run({ page, line, text }: Pick<Block, 'page' | 'line' | 'text'>): Promise<string> {
    const place = `${page}:${line}`
    const script = join(this.folder.path, `.bin/block-${++this.#blocks}.sh`)
    const end = `--- ${place} ended`
    writeFileSync(script, this.#here(text))
    const before = this.#bash.output().length
    this.#bash.write(`. ${script} </dev/null; echo; echo '${end}'`)
    const output = () => this.#bash.output().slice(before)
    const hasEnded = () => output().includes(end) || output().includes(ended)
    await waitFor(hasEnded, { what: `the end of ${place}`, timeoutMs: 90_000 }).catch((cause) => {
      throw new Error(`${place} printed:\n${output()}`, { cause })
    })
    if (!output().includes(end)) throw new Error(`a command of ${place} failed:\n${output()}`)
    if (text.includes(kill)) await this.#startAgain()
    return output().slice(0, output().indexOf(end)).trimEnd()
  }

  /**
   * Runs a block that serves until its end, in the folder of the shell.
   * @param ready the line that says so
   * @returns what `ready` matches
   */
  async serve({ page, line, text }: Block, ready: RegExp): Promise<string> {
    const output = await this.run({ page, line, text: 'pwd' })
    const child = new Child(['bash', '-c', `exec 2>&1; ${this.#here(text)}`], {
      cwd: output.trim().split('\n').at(-1) ?? '',
      env: this.#env,
    })
    this.#children.push(child)
    const isReady = () => ready.test(child.output()) || child.exit !== null
    await waitFor(isReady, { what: `${page}:${line}`, timeoutMs: 60_000 })
    const [match] = ready.exec(child.output()) ?? []
    if (match === undefined) throw new Error(`${page}:${line} printed:\n${child.output()}`)
    return match
  }

  /** Ends what {@link serve} has begun, as Ctrl+C does. */
  async interrupt(): Promise<void> {
    for (const child of this.#children.splice(0)) {
      child.killTree()
      await child.exited
    }
  }

  /** Follows "start it again" after the line that kills the service. */
  async #startAgain(): Promise<void> {
    await this.server.exited
    this.server = await this.server.startAgain()
  }

  #here(text: string): string {
    return this.#replace.reduce((changed, [from, to]) => changed.replaceAll(from, to), text)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.interrupt()
    // Its background jobs are in its group, also when it has ended.
    this.#bash.killGroup()
    await this.#bash.exited
    await this.server[Symbol.asyncDispose]()
    this.folder[Symbol.dispose]()
  }
}
