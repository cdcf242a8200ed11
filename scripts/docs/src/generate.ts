/**
 * Writes docs/reference, a table of the push guide and types of the client from the definitions
 * that the server runs. With --check it fails when a page is not current, a citation of a rule or a
 * section or a link is broken, a text for callers cites one, a guide for developers or a comment
 * names a missing file, a block of code has no mark, or a page names a command that does not exist.
 * --blocks lists the blocks of code, and how each is run.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorCatalogue, type Operation, openSession, operations } from '@hermod/protocol'
import { asyncApiDocument } from '@hermod/protocol/asyncapi'
import { openApiDocument } from '@hermod/protocol/openapi'
import { hermodProgram } from '@hermod/server/dist/commands/program.js'
import { configReference } from '@hermod/server/dist/config/reference.js'
import { builtOperationIds } from '@hermod/server/dist/context/handlers.js'
import { openApiExamples } from '@hermod/server/dist/http/routes/openapi-examples.js'
import { lineTypes } from '@hermod/server/dist/transfer/lines.js'
import { badBlocks, listedBlocks } from './blocks.js'
import {
  type CitingText,
  citingErrors,
  danglingCitations,
  danglingSections,
  statedRules,
} from './citations.js'
import { type ClientEntries, renderClient } from './client.js'
import { renderClientContract } from './client-contract.js'
import { entryDeclarations } from './declarations.js'
import { exportSchemaFiles, renderExport, renderExportSchema } from './export.js'
import { renderGateway } from './gateway.js'
import { renderGroupRights } from './group-rights.js'
import { renderStream, renderStreamSchema, streamSchemaFile } from './import-stream.js'
import { type LockFile, renderLicenses } from './licenses.js'
import { brokenLinks } from './links.js'
import { missingCommentedFiles, missingPaths } from './named-paths.js'
import { unknownCommands } from './named-commands.js'
import { allBlocks } from './page-blocks.js'
import { withPushChannels } from './push-channels.js'
import { renderAvailability, renderErrors, renderOperations } from './render.js'
import { renderScopes } from './scopes.js'

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..')
const folder = join(root, 'docs/reference')
const described = { version: 'current', builtOperationIds, examples: openApiExamples() }
const document = openApiDocument(described)
const pages: Readonly<Record<string, string>> = {
  ...renderOperations(document),
  'errors.md': renderErrors(errorCatalogue),
  'availability.md': renderAvailability(operations, builtOperationIds),
  'gateway.md': renderGateway(asyncApiDocument(described)),
  'group-rights.md': renderGroupRights(operations),
  'scopes.md': renderScopes([...operations, openSession as Operation]),
  'client.md': renderClient(clientEntries()),
  'configuration.md': configReference(),
  'export.md': renderExport(lineTypes),
  [exportSchemaFiles.move]: renderExportSchema(lineTypes, 'move'),
  [exportSchemaFiles.portable]: renderExportSchema(lineTypes, 'portable'),
  'import-stream.md': renderStream(),
  'licenses.md': renderLicenses(lockFile()),
  [streamSchemaFile]: renderStreamSchema(),
  '../../packages/client/src/contract.ts': renderClientContract(),
  '../guides/push.md': withPushChannels(current(join(root, 'docs/guides/push.md')) ?? ''),
}

/** The pages for developers, which name files. */
const guides =
  /^docs[/\\](?:walks[/\\]|guides[/\\](?:development|structure|testing|transactions)\.md)/
/** The folders of the relative paths in these pages. */
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

/** The entries that apps import, by the exports of the package. */
function clientEntries(): ClientEntries {
  const folder = join(root, 'packages/client')
  const { name, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const entries = Object.entries<{ readonly types: string }>(exports)
    .filter(([, { types }]) => existsSync(join(folder, types)))
    .map(([entry, { types }]) => [
      join(name, entry).replaceAll('\\', '/'),
      entryDeclarations(join(folder, types).replaceAll('\\', '/'), current),
    ])
  return Object.fromEntries(entries)
}

function lockFile(): LockFile {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
}

/** The sources and pages of the repository, which may cite rules and name files. */
function citingTexts(): CitingText[] {
  const paths = ['packages', 'bench', 'scripts', 'docs', 'examples']
    .filter((top) => existsSync(join(root, top)))
    .flatMap((top) =>
      readdirSync(join(root, top), { recursive: true, encoding: 'utf8' }).map((path) =>
        join(top, path),
      ),
    )
  return [...paths, ...readdirSync(root)]
    .filter(
      (path) => /\.(ts|mjs|md)$/.test(path) && !/(^|[/\\])(node_modules|dist)[/\\]/.test(path),
    )
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** The pages of operations that exist, whose sections may be gone. */
function generatedOperations(): string[] {
  const path = join(folder, 'operations')
  return existsSync(path) ? readdirSync(path).map((name) => `operations/${name}`) : []
}

async function problems(): Promise<string[]> {
  const all = citingTexts()
  // Their samples cite and name missing things.
  const texts = all.filter(
    ({ path }) => !/(blocks|citations|named-commands|named-paths)\.test\.ts$/.test(path),
  )
  const sources = texts.filter(({ path }) => /^packages[/\\]\w+[/\\]src[/\\]/.test(path))
  return [
    ...stale.map(([name]) => `${join('docs/reference', name)} is not current; run npm run docs`),
    ...leftover.map((name) => `${join('docs/reference', name)} has no section; run npm run docs`),
    ...danglingCitations(texts, statedRules(ruleTexts())),
    ...longPages(pagesOf(all)),
    ...danglingSections(texts, pagesOf(all)),
    ...brokenLinks(pagesOf(all), (path) => existsSync(join(root, path))),
    ...badBlocks(allBlocks(), (path) => existsSync(join(root, path))),
    ...unknownCommands(
      // A decision names what was rejected.
      pagesOf(all.filter(({ path }) => !/^docs[/\\]decisions/.test(path))),
      await hermodProgram(),
    ),
    ...citingErrors(errorCatalogue, sources),
    ...all
      .filter(({ path }) => guides.test(path))
      .flatMap(({ path, text }) => missingPaths(path, text, isInRepository)),
    ...missingCommentedFiles(
      texts.filter(({ path }) => !path.endsWith('.md')),
      all.map(({ path }) => path),
    ),
  ]
}

function pagesOf(texts: readonly CitingText[]): Readonly<Record<string, string>> {
  const found = texts.filter(({ path }) => path.endsWith('.md'))
  return Object.fromEntries(found.map(({ path, text }) => [path.replaceAll('\\', '/'), text]))
}

/** The pages of the numbered rules. */
function ruleTexts(): string {
  const names = ['behaviour.md', 'behaviour-clients.md']
  return names.map((name) => current(join(folder, name)) ?? '').join('\n')
}

/** A page by hand has at most 60 KB, and one for operators 150 lines. */
function longPages(pages: Readonly<Record<string, string>>): string[] {
  const ofOperators = new Set(
    [
      ...(pages['docs/guides/operating.md'] ?? '').matchAll(/^\| \[[^\]]+\]\((\w[\w-]*\.md)\)/gm),
    ].map(([, name]) => `docs/guides/${name}`),
  )
  return Object.entries(pages).flatMap(([path, text]) => [
    ...(text.length > 61_440 && !text.startsWith('<!-- Generated')
      ? [`${path} has more than 60 KB`]
      : []),
    ...(ofOperators.has(path) && text.trimEnd().split('\n').length > 150
      ? [`${path} has more than 150 lines`]
      : []),
  ])
}

const stale = Object.entries(pages).filter(([name, text]) => current(join(folder, name)) !== text)
const leftover = generatedOperations().filter((name) => !(name in pages))
if (process.argv.includes('--blocks')) {
  process.stdout.write(listedBlocks(allBlocks()))
} else if (process.argv.includes('--check')) {
  const found = await problems()
  for (const problem of found) process.stderr.write(`${problem}\n`)
  if (found.length > 0) process.exitCode = 1
} else {
  mkdirSync(join(folder, 'operations'), { recursive: true })
  for (const name of leftover) rmSync(join(folder, name))
  for (const [name, text] of stale) writeFileSync(join(folder, name), text)
}
