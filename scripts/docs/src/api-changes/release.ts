/**
 * Writes the document of the API that a release has, `npm run docs:release`. Refuses changes that
 * break clients of the last release; `--breaking` accepts them.
 */
import { writeFileSync } from 'node:fs'
import { breakingChanges } from './breaking-changes.js'
import { currentDocument, readableJson, releasedDocument, releasePath } from './release-document.js'

const released = releasedDocument()
const current = currentDocument()
const changes = released === null ? [] : breakingChanges(released, current)
for (const change of changes) process.stderr.write(`${change}\n`)
if (changes.length > 0 && !process.argv.includes('--breaking')) {
  process.stderr.write(
    `${changes.length} changes break clients of ${released?.info.version}; undo them, or accept them with npm run docs:release -- --breaking\n`,
  )
  process.exitCode = 1
} else writeFileSync(releasePath, readableJson(current))
