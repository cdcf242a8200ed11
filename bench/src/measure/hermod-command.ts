/** Runs commands of `hermod` as processes, with their time and memory. */
import { resolve } from 'node:path'
import { Child, peakRssBytes } from '@hermod/testkit'

/** Settings of a command, without those of this process. */
export type Settings = Readonly<Record<string, string | undefined>>

/** A command that has succeeded. */
export interface CommandRun {
  readonly out: string
  readonly seconds: number
  readonly peakBytes: number
}

const script = resolve(import.meta.dirname, '../../../packages/server/bin/hermod.js')
const sampleMs = 50

/** @throws Error with the output of a command that fails */
export async function runHermod(args: readonly string[], settings: Settings): Promise<CommandRun> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HERMOD_'))
  const env = { ...Object.fromEntries(inherited), ...settings }
  const startedAt = performance.now()
  const child = new Child([process.execPath, script, ...args], { env })
  let peakBytes = 0
  const sample = () => {
    peakBytes = Math.max(peakBytes, peakRssBytes(child.pid) || 0)
  }
  const timer = setInterval(sample, sampleMs)
  const { code } = await child.exited
  clearInterval(timer)
  if (code !== 0) throw new Error(`hermod ${args.join(' ')} ended with ${code}:\n${child.output()}`)
  return { out: child.output(), seconds: (performance.now() - startedAt) / 1_000, peakBytes }
}

/** Returns the last line of the output of a command with --json. */
export async function hermodJson<T>(
  args: readonly string[],
  settings: Settings,
): Promise<CommandRun & { readonly json: T }> {
  const run = await runHermod([...args, '--json'], settings)
  return { ...run, json: JSON.parse(run.out.trimEnd().split('\n').at(-1) ?? '') }
}
