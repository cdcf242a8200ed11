/** Writes docs/reference from the definitions that the server runs, or with --check fails when a page is not current. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorCatalogue, operations } from '@hermod/protocol'
import { openApiDocument } from '@hermod/protocol/openapi'
import { configReference } from '../config/reference.js'
import { builtOperationIds } from '../context/handlers.js'
import { renderGroupRights } from './group-rights.js'
import { renderAvailability, renderErrors, renderOperations } from './render.js'

const folder = join(dirname(fileURLToPath(import.meta.url)), '../../../../docs/reference')
const document = openApiDocument({ version: 'current', builtOperationIds })
const pages: Readonly<Record<string, string>> = {
  'operations.md': renderOperations(document),
  'errors.md': renderErrors(errorCatalogue),
  'availability.md': renderAvailability(operations, builtOperationIds),
  'group-rights.md': renderGroupRights(operations),
  'configuration.md': configReference(),
}

function current(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}

const stale = Object.entries(pages).filter(([name, text]) => current(join(folder, name)) !== text)
if (process.argv.includes('--check')) {
  for (const [name] of stale)
    process.stderr.write(`docs/reference/${name} is not current; run npm run docs\n`)
  if (stale.length > 0) process.exitCode = 1
} else {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of stale) writeFileSync(join(folder, name), text)
}
