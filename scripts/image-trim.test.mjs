/** The files of our packages that the image gets. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const script = resolve(dirname(fileURLToPath(import.meta.url)), '../deploy/image/trim.mjs')

test('the image has what a package ships, and no data of a service that ran in its folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hermod-trim-'))
  try {
    const shipped = ['LICENSE', 'dist/main.js', 'package.json']
    const others = ['.env', 'data/secret.key', 'dist/main.d.ts', 'dist/main.js.map', 'src/main.ts']
    for (const path of [...shipped, ...others]) {
      const full = join(folder, 'packages/server', path)
      mkdirSync(dirname(full), { recursive: true })
      writeFileSync(full, path === 'package.json' ? '{ "files": ["dist", "!**/*.map"] }' : '')
    }
    execFileSync(process.execPath, [script, 'packages'], { cwd: folder })
    const server = join(folder, 'packages/server')
    const left = readdirSync(server, { recursive: true })
    expect(left.filter((path) => statSync(join(server, path)).isFile()).sort()).toEqual(shipped)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
