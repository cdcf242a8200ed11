#!/usr/bin/env node
/**
 * Tries the description of the API with the tools that its users have: linters, and the generators
 * of docs/guides/generated-clients.md, whose clients send a first message to a started service. The
 * blocks of that page are what runs. Needs the registries of npm and PyPI, and python3 with venv.
 *
 *     npm run build && node scripts/api-tools.mjs
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startServer } from '../packages/testkit/dist/index.js'
import { blocksOf } from './docs/dist/blocks.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const page = 'docs/guides/generated-clients.md'
const linters = [
  '@redocly/cli@2.77.0',
  '@stoplight/spectral-cli@6.16.3',
  '@apidevtools/swagger-parser@13.0.0',
]
/** The rule knows scopes of OAuth 2 only; OpenAPI 3.1 has roles of any scheme. */
const spectralRules = {
  extends: ['spectral:oas'],
  rules: { 'oas3-operation-security-defined': 'off' },
}
const compilerOptions = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noPropertyAccessFromIndexSignature: true,
  module: 'nodenext',
  target: 'es2023',
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
}

const parse = "await (await import('@apidevtools/swagger-parser')).default.validate('openapi.json')"

const folder = mkdtempSync(join(tmpdir(), 'hermod-api-tools-'))
const server = await startServer()
const env = {
  ...process.env,
  HERMOD_URL: server.url,
  HERMOD_APP_ID: server.appId,
  REDOCLY_TELEMETRY: 'off',
  npm_config_ignore_scripts: 'true',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
}
const blocks = blocksOf(page, readFileSync(join(root, page), 'utf8'))
let failures = 0
try {
  const description = await fetch(new URL('/openapi.json', server.url))
  write('openapi.json', await description.text())
  write('package.json', '{ "type": "module", "private": true }')
  write('.spectral.json', JSON.stringify(spectralRules))
  write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['first-message.ts'] }))
  // The first block has the address of the reader's service.
  const [, forTypeScript, forPython] = textsIn('sh')
  const typeScript = step('openapi-typescript', () => bash(forTypeScript))
  const python = step('openapi-python-client', () => bash(forPython))
  if (await typeScript) {
    await step('linters', () => run('npm', ['install', '--no-save', ...linters]))
    await step('redocly', () => run('npx', ['redocly', 'lint', 'openapi.json']))
    await step('spectral', () =>
      run('npx', ['spectral', 'lint', 'openapi.json', '--ruleset', '.spectral.json']),
    )
    await step('swagger-parser', () => run('node', ['--input-type=module', '--eval', parse]))
    await step('first message in TypeScript', firstInTypeScript)
  }
  if (await python) await step('first message in Python', firstInPython)
} finally {
  await server[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = failures === 0 ? 0 : 1

/** @returns the texts of the blocks of the page in a language */
function textsIn(language) {
  return blocks.filter((block) => block.language === language).map(({ text }) => text)
}

async function firstInTypeScript() {
  write('first-message.ts', textsIn('ts')[0])
  await run('node', [join(root, 'node_modules/typescript/bin/tsc'), '-p', '.'])
  return expectOutput(await run('node', ['first-message.js']), /^200 \[ \d+ \]\nHello Bob\n$/)
}

async function firstInPython() {
  write('first_message.py', textsIn('python')[0])
  return expectOutput(await run('tools/bin/python', ['first_message.py']), /^200 \[\d+\]\n$/)
}

function expectOutput({ stdout }, expected) {
  if (!expected.test(stdout)) throw new Error(`printed ${JSON.stringify(stdout)}`)
}

/** Prints how long a step took. @returns whether it succeeded */
async function step(name, work) {
  const startedAt = performance.now()
  const outcome = await work().then(
    () => 'ok',
    ({ message, stdout = '', stderr = '' }) => `FAILED: ${message}\n${stdout}${stderr}`,
  )
  if (outcome !== 'ok') failures++
  console.log(`${name} (${((performance.now() - startedAt) / 1000).toFixed(1)} s): ${outcome}`)
  return outcome === 'ok'
}

function bash(script) {
  return run('bash', ['-euo', 'pipefail', '-c', script])
}

function run(command, args) {
  return promisify(execFile)(command, args, { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 })
}

function write(name, text) {
  writeFileSync(join(folder, name), text)
}
