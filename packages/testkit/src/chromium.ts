import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const names = ['chromium', 'chromium-browser', 'google-chrome']

/** @returns the path of the first Chromium or Chrome that PATH has, null when there is none */
export function findChromium(): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(runs) ?? null
}

/**
 * The browser to test with; null: there is none, so that its tests are left out.
 * @throws Error when nothing may be left out (HERMOD_TEST_BACKENDS=all) and there is none
 */
export function testChromium(): string | null {
  const found = findChromium()
  if (found === null && process.env.HERMOD_TEST_BACKENDS === 'all')
    throw new Error('Chromium was not found')
  return found
}

function runs(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
