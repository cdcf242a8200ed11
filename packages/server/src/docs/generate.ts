/**
 * Writes docs/reference from the definitions that the server runs, or with --check fails when a page is not current, a
 * citation of a rule leads nowhere, a text for callers cites one, or the guide for developers names a file that is not there.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorCatalogue, operations } from '@hermod/protocol'
import { openApiDocument } from '@hermod/protocol/openapi'
import { configReference } from '../config/reference.js'
import { builtOperationIds } from '../context/handlers.js'
import { type CitingText, citingErrors, danglingCitations, statedRules } from './citations.js'
import { renderGroupRights } from './group-rights.js'
import { missingPaths } from './named-paths.js'
import { renderAvailability, renderErrors, renderOperations } from './render.js'

const root = join(dirname(fileURLToPath(import.meta.url)), '../../../..')
const folder = join(root, 'docs/reference')
const document = openApiDocument({ version: 'current', builtOperationIds })
const pages: Readonly<Record<string, string>> = {
  'operations.md': renderOperations(document),
  'errors.md': renderErrors(errorCatalogue),
  'availability.md': renderAvailability(operations, builtOperationIds),
  'group-rights.md': renderGroupRights(operations),
  'configuration.md': configReference(),
}

const guide = 'docs/guides/development.md'
/** What the paths of the guide are relative to. */
const guideRoots = [root, join(root, 'packages/server/src')]

function isInRepository(path: string): boolean {
  return guideRoots.some((from) => existsSync(join(from, path)))
}

function current(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}

/** The sources and pages of the repository, which may cite rules. */
function citingTexts(): CitingText[] {
  return ['packages', 'bench', 'docs'].flatMap((top) =>
    readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.(ts|md)$/.test(path) && !/(^|[/\\])(node_modules|dist)[/\\]/.test(path))
      // Its samples cite what is nowhere stated.
      .filter((path) => !path.endsWith('citations.test.ts'))
      .map((path) => ({
        path: join(top, path),
        text: readFileSync(join(root, top, path), 'utf8'),
      })),
  )
}

function problems(): string[] {
  const texts = citingTexts()
  const sources = texts.filter(({ path }) => /^packages[/\\]\w+[/\\]src[/\\]/.test(path))
  return [
    ...stale.map(([name]) => `docs/reference/${name} is not current; run npm run docs`),
    ...danglingCitations(texts, statedRules(current(join(folder, 'behaviour.md')) ?? '')),
    ...citingErrors(errorCatalogue, sources),
    ...missingPaths(guide, current(join(root, guide)) ?? '', isInRepository),
  ]
}

const stale = Object.entries(pages).filter(([name, text]) => current(join(folder, name)) !== text)
if (process.argv.includes('--check')) {
  const found = problems()
  for (const problem of found) process.stderr.write(`${problem}\n`)
  if (found.length > 0) process.exitCode = 1
} else {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of stale) writeFileSync(join(folder, name), text)
}
