/** The components of what a release installs, and their licences. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installedPackages, refusedLicenses } from '../docs/dist/licenses.js'
import { root, run } from './packages.mjs'

const sbom = 'hermod.cdx.json'

/** Writes the list of components into the folder. @returns faults of their licences */
export async function componentFaults(folder) {
  const args = ['sbom', '--sbom-format=cyclonedx', '--omit=dev', '--package-lock-only']
  const { stdout } = await run('npm', [...args, '--workspace', 'hermod'], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  })
  writeFileSync(join(folder, sbom), stdout)
  return licenseFaults(root, ['packages/hermod', 'packages/client'])
}

/** @returns faults of the licences of what the entries of a lock file install */
export function licenseFaults(folder, roots) {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  return refusedLicenses(installedPackages(lock, roots))
}
