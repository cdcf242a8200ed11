/** The packages of the repository, and the tarballs in which npm ships them. */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const run = promisify(execFile)
export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

export const readJson = (...path) => JSON.parse(readFileSync(join(root, ...path), 'utf8'))

/** @returns the version of the workspace and its packages, each after those on which it depends */
export function readWorkspace() {
  const packages = readdirSync(join(root, 'packages')).map((name) => ({
    folder: `packages/${name}`,
    manifest: readJson('packages', name, 'package.json'),
  }))
  return { version: readJson('package.json').version, packages: inOrder(packages) }
}

function inOrder(packages) {
  const ordered = new Set()
  const add = (each) => {
    for (const name of Object.keys(each.manifest.dependencies ?? {}))
      for (const other of packages) if (other.manifest.name === name) add(other)
    ordered.add(each)
  }
  for (const each of packages) add(each)
  return [...ordered]
}

/**
 * Packs all packages into the folder.
 * @returns for each also its tarball, the sizes, the paths in it, and where they are unpacked
 */
export async function packAll({ packages }, folder) {
  const args = ['pack', '--json', '--pack-destination', folder]
  for (const { folder: each } of packages) args.push('--workspace', each)
  const { stdout } = await run('npm', args, { cwd: root, maxBuffer: 64 * 1024 * 1024 })
  const byName = new Map(JSON.parse(stdout).map((each) => [each.name, each]))
  return Promise.all(
    packages.map(async (each) => {
      const { filename, size, unpackedSize, files } = byName.get(each.manifest.name)
      const tarball = join(folder, filename)
      const unpacked = join(folder, 'unpacked', each.manifest.name)
      mkdirSync(unpacked, { recursive: true })
      await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', unpacked])
      return {
        ...each,
        tarball,
        size,
        unpackedSize,
        unpacked,
        paths: files.map(({ path }) => path),
      }
    }),
  )
}
