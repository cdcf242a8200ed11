import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const names = ['chromium', 'chromium-browser', 'google-chrome']

/** @returns the path of the first Chromium or Chrome in PATH, or null */
export function findChromium(): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(runs) ?? null
}

/**
 * Returns the browser to test with; null: none is installed, so its tests are skipped.
 * @throws Error when none is installed and no test may be skipped (HERMOD_TEST_BACKENDS=all)
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
