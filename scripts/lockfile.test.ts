/** The lockfile installs on every platform, not only on the one that it was written on. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { findPath } from './docs/src/licenses.js'

interface LockedPackage {
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly integrity?: string
  readonly dev?: boolean
  /** A package of this repository. */
  readonly link?: boolean
}

const lockfile = new URL('../package-lock.json', import.meta.url)
const { packages } = JSON.parse(readFileSync(lockfile, 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/** Returns the package that the one at `from` loads by this name; undefined: none is there. */
function findPackage(from: string, name: string): LockedPackage | undefined {
  return packages[findPath(packages, from, name) ?? '']
}

/** Packages with a binary for each platform in a package of its own. */
const withBinaries = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) => {
  const binaries = Object.keys(optionalDependencies)
  return binaries.length > 1 ? [{ path, binaries }] : []
})

/** What the service itself loads a binary of, at run time. */
const loadedByService = ['@node-rs/argon2', '@node-rs/bcrypt', 'sharp']
const supported = [
  ['linux', 'x64'],
  ['linux', 'arm64'],
  ['darwin', 'x64'],
  ['darwin', 'arm64'],
  ['win32', 'x64'],
  ['win32', 'arm64'],
] as const

describe('package-lock.json', () => {
  it.each(withBinaries)('holds every optional package of $path', ({ path, binaries }) => {
    expect(binaries.filter((name) => findPackage(path, name) === undefined)).toEqual([])
  })

  it('knows what the bytes are of everything that the service runs with', () => {
    const unchecked = Object.entries(packages).filter(
      ([path, { dev, integrity, link }]) =>
        path.includes('node_modules/') && !dev && !link && integrity === undefined,
    )
    expect(unchecked.map(([path]) => path)).toEqual([])
  })

  it('knows the packages that the service loads binaries of', () => {
    const known = withBinaries.map(({ path }) => path)
    for (const name of loadedByService) expect(known).toContain(`node_modules/${name}`)
  })

  it.each(supported)('has a binary of each of them for %s on %s', (os, cpu) => {
    for (const name of loadedByService) {
      const binaries = Object.keys(packages[`node_modules/${name}`]?.optionalDependencies ?? {})
      const fitting = binaries.filter((binary) => {
        const found = packages[`node_modules/${binary}`]
        return found?.os?.includes(os) && found.cpu?.includes(cpu)
      })
      expect(fitting, name).not.toEqual([])
    }
    const { os: systems, cpu: processors } = packages['node_modules/@photostructure/sqlite'] ?? {}
    expect(systems).toContain(os)
    expect(processors).toContain(cpu)
  })
})
