/** publint and attw: a package resolves in Node, in bundlers and for TypeScript. */
import { join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { root, run } from './packages.mjs'

const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js')

/** @returns faults of packed packages */
export async function resolutionFaults(packed) {
  const faults = await Promise.all(
    packed.map(async (each) => [...(await publintFaults(each)), ...(await typeFaults(each))]),
  )
  return faults.flat()
}

async function publintFaults({ manifest, unpacked }) {
  const { messages, pkg } = await publint({ pkgDir: unpacked, pack: false, strict: true })
  return messages.map(
    (message) => `${manifest.name}: ${formatMessage(message, pkg, { color: false })}`,
  )
}

/** Packages with types are for import alone, not for require. */
async function typeFaults({ manifest, tarball }) {
  if (!JSON.stringify(manifest.exports ?? null).includes('"types"')) return []
  const args = [
    attw,
    tarball,
    '--profile',
    'esm-only',
    '--no-definitely-typed',
    '--format',
    'ascii',
  ]
  try {
    await run(process.execPath, [...args, '--no-color', '--no-emoji'])
    return []
  } catch ({ stdout }) {
    return [`${manifest.name}: ${stdout}`]
  }
}
