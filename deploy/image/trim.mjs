// Removes files that no running service reads from the folders of the image: sources, source maps,
// type declarations, and native programs of other systems.
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const unread = /\.(?:map|tsbuildinfo|d\.[cm]?ts)$/
/** SQLite brings its programs for all systems in one package. */
const foreign = /(?:^|\/)prebuilds\/(?:darwin|win32)-|\.musl\.node$/
const otherMachine = new RegExp(`(?:^|/)prebuilds/linux-(?!${process.arch}(?:/|$))`)
/** Sources of our packages, and those from which the program of SQLite is compiled. */
const source = /^(?:packages\/[^/]+|node_modules\/@photostructure\/sqlite)\/src$/

/** @param {string} folder */
function trim(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (source.test(path) || foreign.test(path) || otherMachine.test(path) || unread.test(path))
      rmSync(path, { recursive: true })
    else if (entry.isDirectory()) trim(path)
  }
}

for (const folder of process.argv.slice(2)) trim(folder)
