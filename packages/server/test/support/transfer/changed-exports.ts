/** Exports that are changed as an attacker or a fault changes them, with sound hashes. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type ChangedManifest = Record<string, never> & {
  readonly parts: readonly { readonly name: string }[]
  readonly digest: Readonly<Record<string, object>>
  readonly apps: Readonly<Record<string, object>>
}

/** Replaces the first such text in a file of an export. */
export function changePart(folder: string, name: string, from: string | RegExp, to: string): void {
  const path = join(folder, name)
  const text = readFileSync(path, 'utf8')
  const changed = text.replace(from, to)
  if (changed === text) throw new Error(`${name} has no ${from}`)
  writeFileSync(path, changed)
}

/** Writes another manifest, with its mark. Without an edit its parts are described as they are now. */
export function rewriteManifest(
  folder: string,
  edit: (manifest: ChangedManifest) => object = (manifest) => manifest,
): void {
  const path = join(folder, 'manifest.json')
  const manifest = edit(JSON.parse(readFileSync(path, 'utf8'))) as ChangedManifest
  const parts = manifest.parts.map(({ name, ...part }) => {
    if (!existsSync(join(folder, name))) return { name, ...part }
    const bytes = readFileSync(join(folder, name))
    return { name, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
  })
  const text = JSON.stringify({ ...manifest, parts })
  writeFileSync(path, text)
  writeFileSync(join(folder, 'COMPLETE'), createHash('sha256').update(text).digest('hex'))
}
