/** The files that npm ships in a package. */
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import { root } from './packages.mjs'

const unwanted = /\.test\.|(?:^|\/)tests?\/|tsbuildinfo|(?:^|\/)\.|\.new\//
/** Made by scripts/bundle.mjs, of many modules. */
const bundled = /^dist\/(?:bundle|page)\//
const localPaths = [root, join(homedir(), '/')]

/** @returns faults of a packed package */
export function contentFaults({ manifest: { name }, unpacked, paths }) {
  const known = new Set(paths)
  const missing = ['README.md', 'LICENSE'].filter((path) => !known.has(path))
  const faults = missing.map((path) => `${path} is missing`)
  if (known.has('LICENSE') && textOf(unpacked, 'LICENSE') !== textOf(root, 'LICENSE'))
    faults.push('LICENSE is not that of the repository')
  for (const path of paths) {
    if (unwanted.test(path)) faults.push(`${path} is nothing for users`)
    const text = textOf(unpacked, path)
    for (const local of localPaths)
      if (text.includes(local)) faults.push(`${path} has ${local}, a path of this machine`)
    if (path.endsWith('.map'))
      for (const source of sourcesOf(text).map((each) => posix.join(dirname(path), each)))
        if (!known.has(source)) faults.push(`${path} leads to ${source}, which is not shipped`)
  }
  return faults.map((fault) => `${name}: ${fault}`)
}

const textOf = (...path) => readFileSync(join(...path), 'latin1')
const sourcesOf = (map) => JSON.parse(map).sources

/** The compiler leaves the output of sources that were removed. @returns those that would be shipped */
export function staleFaults({ folder, paths }) {
  return paths
    .filter((path) => isStale(folder, path))
    .map((path) => `${folder}/${path} has no source any more: remove dist and build again`)
}

function isStale(folder, path) {
  const [, module] = /^dist\/(.+)\.js$/.exec(path) ?? []
  if (module === undefined || bundled.test(path)) return false
  return ['ts', 'tsx'].every((end) => !existsSync(join(root, folder, 'src', `${module}.${end}`)))
}
