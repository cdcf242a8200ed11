/** The image: built by buildah from deploy/Dockerfile as it is, and run by podman. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, waitFor } from '../../packages/testkit/dist/index.js'
import {
  buildah,
  buildImage,
  createToken,
  image,
  limitsOf,
  makeBases,
  needEngine,
  nodeMajor,
  podman,
  remove,
  stop,
  tokenlessLog,
  tryPodman,
} from './engine.mjs'
import { firstMessage, messageIsThere } from './first-message.mjs'
import { inFolder, must } from './tools.mjs'

/** The restrictions that the compose files set. */
const locked = ['--read-only', '--tmpfs', '/tmp', '--cap-drop', 'all', '--security-opt']
const options = [...locked, 'no-new-privileges', '--network', 'host', ...limitsOf()]
const graceSeconds = 30

export const imageChecks = [
  ['base images', makeNodeImages],
  ['build', build],
  ['first message, health, end, second start', () => inVolume(runTwice)],
  ['native modules', loadModules],
  ['a wrong file of a secret', () => inFolder(refuseSecret)],
]

function makeNodeImages() {
  needEngine()
  makeBases('node', nodeMajor)
}

/** @returns the size of each layer, with the folder that it fills */
function build() {
  needEngine()
  buildImage()
  const history = JSON.parse(podman('history', '--format', 'json', '--no-trunc', image))
  return history
    .filter(({ size }) => size > 50_000)
    .map(({ size, CreatedBy = '' }) => `${(size / 1e6).toFixed(1)} MB ${nameOf(CreatedBy)}`)
    .join(', ')
}

const nameOf = (step) =>
  /(?:COPY|RUN|WORKDIR|ADD).*/.exec(step)?.[0].trim().split(/\s+/).at(-1) ?? 'base'

async function inVolume(work) {
  needEngine()
  const volume = `hermod-check-${process.pid}`
  try {
    return await work(volume)
  } finally {
    remove(volume)
    tryPodman('volume', 'rm', '--force', volume)
  }
}

/** The container has the name of its volume. */
async function runTwice(volume) {
  const service = await start(volume)
  createToken(volume)
  const message = await firstMessage(service)
  must(tryPodman('healthcheck', 'run', volume).status === 0, 'the health check fails')
  const sick = ['exec', '--env', 'HERMOD_PORT=1', volume, ...healthCheck()]
  must(tryPodman(...sick).status === 1, 'the health check does not fail without the service')
  mustBeLocked(volume)
  must(tokenlessLog(volume).includes('listening'), 'the log has no line of the start')
  const endedAt = performance.now()
  must(stop(volume, graceSeconds) === 0, 'SIGTERM does not end the service with 0')
  const endMs = Math.round(performance.now() - endedAt)
  must(endMs < graceSeconds * 1000, 'the service ended after the grace period')
  remove(volume)
  const again = await start(volume)
  await messageIsThere({ ...message, url: again.url })
  must(stop(volume, graceSeconds) === 0, 'the second end is not 0')
  return `ready after ${service.readyMs} ms and ${again.readyMs} ms, ended after ${endMs} ms`
}

async function start(name) {
  const port = await freePort()
  const env = ['--env', `HERMOD_PORT=${port}`]
  const startedAt = performance.now()
  podman('run', '--detach', '--name', name, '--volume', `${name}:/data`, ...options, ...env, image)
  const url = `http://127.0.0.1:${port}`
  await waitFor(async () => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200, {
    what: 'the container to be ready',
    timeoutMs: 60_000,
    everyMs: 20,
  })
  return { url, appId: 'hermod', readyMs: Math.round(performance.now() - startedAt) }
}

function healthCheck() {
  const [config] = JSON.parse(
    buildah('inspect', '--type', 'image', image)
      .replace(/^\{/, '[{')
      .replace(/\}\s*$/, '}]'),
  )
  const [kind, ...command] = config.Docker.config.Healthcheck.Test
  must(kind === 'CMD', 'the health check needs a shell')
  return command
}

/** The rights of the process, and what it may write. */
function mustBeLocked(name) {
  const script = `const { readFileSync, writeFileSync } = require('node:fs')
    const status = readFileSync('/proc/1/status', 'utf8')
    const write = (path) => { try { writeFileSync(path, '') } catch (error) { return error.code } }
    console.log(JSON.stringify({
      ids: [process.getuid(), process.getgid()],
      rights: status.match(/Cap(?:Prm|Eff|Bnd|Amb):\\s*0{16}$/gm)?.length,
      noNew: /NoNewPrivs:\\s*1/.test(status),
      written: [write('/app/x'), write('/x'), write('/tmp/x'), write('/data/x')],
    }))`
  const found = podman('exec', name, '/nodejs/bin/node', '-e', script).trim()
  const expected = {
    ids: [65532, 65532],
    rights: 4,
    noNew: true,
    written: ['EROFS', 'EROFS', null, null],
  }
  must(found === JSON.stringify(expected), `the rights of the service are ${found}`)
}

/** Programs that are compiled for glibc. */
function loadModules() {
  needEngine()
  const script = `(async () => {
    const load = async (name) => (await import('/app/node_modules/' + name)).default
    const sharp = await load('sharp/dist/index.cjs').catch(() => load('sharp/lib/index.js'))
    const red = { create: { width: 9, height: 9, channels: 3, background: 'red' } }
    const found = {}
    for (const format of ['jpeg', 'webp', 'avif', 'gif', 'png'])
      found[format] = (await sharp(red).toFormat(format).toBuffer()).length > 0
    const argon2 = await load('@node-rs/argon2/index.js')
    found.argon2 = await argon2.verify(await argon2.hash('a'), 'a')
    const bcrypt = await load('@node-rs/bcrypt/index.js')
    found.bcrypt = await bcrypt.verify('a', await bcrypt.hash('a', 4))
    const { DatabaseSync } = require('/app/node_modules/@photostructure/sqlite')
    found.sqlite = new DatabaseSync(':memory:').prepare('select 1 as one').get().one === 1
    console.log(Object.keys(found).filter((name) => found[name]).join(' '))
  })()`
  const run = ['run', '--rm', '--no-healthcheck', ...options, '--entrypoint', '/nodejs/bin/node']
  const found = podman(...run, image, '-e', script).trim()
  must(found === 'jpeg webp avif gif png argon2 bcrypt sqlite', `only these load: ${found}`)
  return found
}

/** The start ends with 2 and a line that names setting and file. */
function refuseSecret(folder) {
  needEngine()
  const path = join(folder, 'secret-key')
  writeFileSync(path, 'short\n', { mode: 0o444 })
  const secret = (file) => [
    ...['run', '--rm', '--no-healthcheck', ...options],
    ...['--volume', `${path}:/run/secrets/secret-key:ro`],
    ...['--env', `HERMOD_SECRET_KEY_FILE=${file}`, image],
  ]
  for (const file of ['/run/secrets/secret-key', '/run/secrets/other']) {
    const { status, stderr } = tryPodman(...secret(file))
    must(status === 2, `a wrong secret ended with ${status}: ${stderr}`)
    const names = stderr.includes('HERMOD_SECRET_KEY_FILE') && stderr.includes(file)
    must(names, `the message does not name setting and file: ${stderr}`)
  }
}
