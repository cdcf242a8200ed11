/** Programs of the checks. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const deploy = join(root, 'deploy')
/** Files that a check makes, and that other checks and later runs use again. */
export const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'hermod-deploy')
/** The search path with the folders of Debian for programs of the administrator. */
const path = [process.env.PATH, '/usr/sbin', '/sbin'].join(delimiter)

/** The reason for which a check does not run. */
export class LeftOut extends Error {}

/** @param programs those that the check needs */
export function need(...programs) {
  const missing = programs.filter((program) => run('which', [program]).status !== 0)
  if (missing.length > 0) throw new LeftOut(`there is no ${missing.join(' and no ')}`)
}

export function needRoot() {
  if (process.getuid?.() !== 0) throw new LeftOut('only root may do this')
}

/** @returns `{ status, stdout, stderr }` */
export function run(program, args, options = {}) {
  const env = { ...process.env, PATH: path, ...options.env }
  return spawnSync(program, args, {
    ...{ cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 },
    ...options,
    env,
  })
}

/**
 * Runs a program that has to end with 0.
 *
 * @returns its output
 */
export function output(program, args, options = {}) {
  const { status, stdout, stderr, error } = run(program, args, options)
  if (status === 0) return stdout
  const text = error?.message ?? `${stdout}${stderr}`.trim()
  throw new Error(`${program} ${args.slice(0, 2).join(' ')} ended with ${status}:\n${text}`)
}

/** Fails with `text` unless it holds. */
export function must(holds, text) {
  if (!holds) throw new Error(text)
}

/** A folder for the work, which is removed after it. */
export async function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'hermod-deploy-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
