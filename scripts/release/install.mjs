/** The packages as a user gets them: installed in an empty folder without install scripts, and used. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Child, startServer, waitFor } from '../../packages/testkit/dist/index.js'
import { licenseFaults } from './licenses.mjs'
import { root, run } from './packages.mjs'

const tsc = join(root, 'node_modules/typescript/bin/tsc')
const program = 'first-message'
const strict = ['--strict', '--module', 'nodenext', '--target', 'es2023', '--resolveJsonModule']
/** From the start of the command to the read message. */
const firstMessageMostMs = 20_000

/** @returns faults of the packages for their users, and `{ note }` with what was measured */
export async function installFaults(packed) {
  const folder = mkdtempSync(join(tmpdir(), 'hermod-installed-'))
  try {
    const installMs = await timed(() => install(folder, packed))
    const faults = licenseFaults(folder, [''])
    const messageMs = await timed(async () => faults.push(...(await firstMessageFaults(folder))))
    if (messageMs > firstMessageMostMs) faults.push(`the first message took ${messageMs} ms`)
    faults.push(...(await demoFaults(folder)))
    const [size] = (await run('du', ['-sm', 'node_modules'], { cwd: folder })).stdout.split('\t')
    const note = `installed in ${installMs} ms, ${size} MB; first message ${messageMs} ms later`
    return [...faults, { note }]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function timed(work) {
  const startedAt = performance.now()
  await work()
  return Math.round(performance.now() - startedAt)
}

async function install(folder, packed) {
  const dependencies = Object.fromEntries(
    packed.map(({ manifest, tarball }) => [manifest.name, `file:${tarball}`]),
  )
  const manifest = { name: 'installed', private: true, type: 'module', dependencies }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  cpSync(join(root, 'scripts/release/consumer'), folder, { recursive: true })
  await run('npm', ['install', '--ignore-scripts', '--prefer-offline'], { cwd: folder })
}

const commandIn = (folder) => join(folder, 'node_modules/.bin/hermod')

/** Starts the service, compiles a program against the installed types, and runs it. */
async function firstMessageFaults(folder) {
  const server = await startServer({ command: commandIn(folder) })
  try {
    const service = JSON.stringify({ url: server.url, appId: server.appId })
    writeFileSync(join(folder, 'service.json'), service)
    await run(process.execPath, [tsc, ...strict, `${program}.ts`], { cwd: folder })
    const { stdout } = await run(process.execPath, [`${program}.js`], { cwd: folder })
    return stdout === 'Hello Bob\n' ? [] : [`the first message is ${stdout}`]
  } catch ({ message, stdout = '' }) {
    return [`the first message: ${message}\n${stdout}`]
  } finally {
    await server[Symbol.asyncDispose]()
  }
}

/** The command finds the package of the demo, which serves its page. */
async function demoFaults(folder) {
  const demo = new Child([process.execPath, commandIn(folder), 'demo', '--port', '0'])
  try {
    const url = await waitFor(
      () => /http:\/\/127\.0\.0\.1:\d+\/demo/.exec(demo.output())?.[0] ?? demo.exit !== null,
      { what: 'the start of hermod demo', timeoutMs: 60_000 },
    )
    if (url === true) return [`hermod demo ended: ${demo.output()}`]
    const page = await fetch(`${url}/chat.js`)
    const expected = readFileSync(join(root, 'packages/demo/dist/page/chat.js'), 'utf8')
    return (await page.text()) === expected ? [] : ['hermod demo does not serve its page']
  } finally {
    demo.signal('SIGINT')
    await demo.exited
  }
}
