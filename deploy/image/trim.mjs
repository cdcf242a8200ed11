// Removes files that no running service reads from the folders of the image: what our packages do not
// ship, such as sources or the data of a service that was started there, source maps, type
// declarations, and native programs of other systems.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const unread = /\.(?:map|tsbuildinfo|d\.[cm]?ts)$/
/** SQLite brings its programs for all systems in one package. */
const foreign = /(?:^|\/)prebuilds\/(?:darwin|win32)-|\.musl\.node$/
const otherMachine = new RegExp(`(?:^|/)prebuilds/linux-(?!${process.arch}(?:/|$))`)
/** The sources from which the program of SQLite is compiled. */
const source = /^node_modules\/@photostructure\/sqlite\/src$/
const ofEveryPackage = ['LICENSE', 'node_modules', 'package.json']

/** @param {string} folder */
function trim(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (source.test(path) || foreign.test(path) || otherMachine.test(path) || unread.test(path))
      rmSync(path, { recursive: true })
    else if (entry.isDirectory()) trim(path)
  }
}

/** Leaves what a package of ours ships. @param {string} folder */
function trimPackage(folder) {
  const { files } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const shipped = new Set([...ofEveryPackage, ...files])
  for (const name of readdirSync(folder))
    if (!shipped.has(name)) rmSync(join(folder, name), { recursive: true })
}

for (const folder of process.argv.slice(2)) {
  if (folder === 'packages') for (const name of readdirSync(folder)) trimPackage(join(folder, name))
  trim(folder)
}
