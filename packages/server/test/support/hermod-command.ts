import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { runProgram } from '../../dist/commands/program.js'
import { commandWork } from '../../dist/main.js'

export const hermodScript = resolve(import.meta.dirname, '../../bin/hermod.js')

export interface CommandResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

/**
 * The environment of this process without its own HERMOD_* settings and without what a test runner
 * tells Node.
 */
export function hermodEnvironment(
  settings: Readonly<Record<string, string | undefined>>,
): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('HERMOD_') && name !== 'NODE_OPTIONS',
  )
  return { ...Object.fromEntries(inherited), ...settings }
}

const timeoutMs = 30_000
const maxOutputBytes = 64 * 1024 * 1024

/**
 * Runs one command line of `hermod` to its end.
 * @param input what the command finds on its standard input
 */
export function runHermod(
  args: readonly string[],
  settings: Readonly<Record<string, string | undefined>> = {},
  input = '',
): Promise<CommandResult> {
  const options = {
    env: hermodEnvironment(settings),
    timeout: timeoutMs,
    encoding: 'utf8' as const,
    maxBuffer: maxOutputBytes,
  }
  return new Promise((done, reject) => {
    const child = execFile(process.execPath, [hermodScript, ...args], options, (_, out, err) => {
      if (child.exitCode === null)
        reject(new Error(`hermod ${args.join(' ')} was ended by ${child.signalCode}\n${out}${err}`))
      else done({ code: child.exitCode, out, err })
    })
    child.stdin?.on('error', () => {}).end(input)
  })
}

/**
 * As {@link runHermod}, without a process of its own: for what a command does, not how it starts,
 * reads and ends.
 */
export async function callHermod(
  args: readonly string[],
  settings: Readonly<Record<string, string | undefined>> = {},
  input = '',
): Promise<CommandResult> {
  const [stdout, stderr] = [new WrittenText(), new WrittenText()]
  const env = Object.fromEntries(
    Object.entries(hermodEnvironment(settings)).filter(([, value]) => value !== undefined),
  )
  const stdin = Readable.from([Buffer.from(input)])
  const code = await runProgram({ ...commandWork, env, stdin, stdout, stderr }, args)
  return { code, out: stdout.text, err: stderr.text }
}

class WrittenText extends Writable {
  readonly #chunks: Buffer[] = []

  get text(): string {
    return Buffer.concat(this.#chunks).toString()
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk)
    done()
  }
}
