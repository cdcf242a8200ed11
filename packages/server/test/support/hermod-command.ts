import { execFile } from 'node:child_process'
import { resolve } from 'node:path'

export const hermodScript = resolve(import.meta.dirname, '../../bin/hermod.js')

export interface CommandResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** The environment of this process without its own HERMOD_* settings and without what a test runner tells Node. */
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
