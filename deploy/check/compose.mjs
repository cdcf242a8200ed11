/** Each compose file, as Compose reads it, run by podman. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitFor } from '../../packages/testkit/dist/index.js'
import {
  createToken,
  filesLimit,
  image,
  limitsOf,
  makeBases,
  needEngine,
  podman,
  remove,
  tokenlessLog,
  tryPodman,
} from './engine.mjs'
import { firstMessage, messageIsThere } from './first-message.mjs'
import { compose, composeFiles } from './manifests.mjs'
import { deploy, inFolder, must, output } from './tools.mjs'

export const composeParts = composeFiles.map((file) => [
  file,
  () => inFolder((folder) => check(file, folder)),
])

/** First message, token, log; with several nodes the end of one. */
async function check(file, folder) {
  needEngine()
  makeBases('services')
  const project = new Project(compose(file), folder)
  try {
    await project.up()
    return await use(project)
  } finally {
    project.down()
  }
}

async function use(project) {
  const nodes = project.namesLike(/^hermod$|^node-/)
  const service = { url: project.url(), appId: 'hermod' }
  createToken(nodes[0])
  const message = await firstMessage(service)
  for (const node of nodes) tokenlessLog(node)
  if (nodes.length > 1) {
    podman('kill', '--signal', 'KILL', nodes[1])
    for (let call = 0; call < 20; call++) await messageIsThere(message)
    await firstMessage(service, ['carol', 'dave'])
  }
  const ended = nodes.length > 1 ? ['one node killed, 20 calls answered'] : []
  return [...ended, ...project.notes].join('; ')
}

class Project {
  /** Limits of this machine that the files exceed. */
  notes = new Set()
  #services
  #project
  #folder
  #started = []
  #network

  constructor(project, folder) {
    this.#project = project
    this.#services = project.services
    this.#folder = folder
    this.#network = `${project.name}-check`
    this.#makeSecrets()
  }

  namesLike(pattern) {
    const names = Object.keys(this.#services).filter((name) => pattern.test(name))
    return names.map((name) => this.#nameOf(name))
  }

  /** The address of the service whose port is published. */
  url() {
    const [name] = Object.entries(this.#services).find(([, { ports }]) => ports)
    const address = podman(
      'inspect',
      '--format',
      `{{(index .NetworkSettings.Networks "${this.#network}").IPAddress}}`,
      this.#nameOf(name),
    )
    return `http://${address.trim()}:8080`
  }

  /** Starts the services in the order of what they depend on, each when those are healthy. */
  async up() {
    const [config] = this.#project.networks.default.ipam.config ?? []
    podman('network', 'create', ...(config ? ['--subnet', config.subnet] : []), this.#network)
    const waiting = new Set(Object.keys(this.#services))
    while (waiting.size > 0) {
      const ready = [...waiting].filter((name) =>
        Object.keys(this.#services[name].depends_on ?? {}).every((other) => !waiting.has(other)),
      )
      for (const name of ready) this.#start(name)
      for (const name of ready) await this.#isHealthy(name)
      for (const name of ready) waiting.delete(name)
    }
  }

  down() {
    for (const name of this.#started.toReversed()) remove(this.#nameOf(name))
    const volumes = Object.keys(this.#project.volumes ?? {}).map((name) => this.#nameOf(name))
    if (volumes.length > 0) tryPodman('volume', 'rm', '--force', ...volumes)
    tryPodman('network', 'rm', '--force', this.#network)
  }

  #nameOf(name) {
    return `${this.#network}-${name}`
  }

  #start(name) {
    this.#started.push(name)
    const { build, image: base } = this.#services[name]
    const args = this.#argsOf(name, this.#services[name])
    podman('run', '--detach', '--name', this.#nameOf(name), ...args, build ? image : base)
  }

  #argsOf(name, service) {
    const args = ['--network', this.#network, '--network-alias', name]
    const flag = (option, ...values) => {
      for (const value of values) args.push(option, value)
    }
    flag('--hostname', ...(service.hostname ? [service.hostname] : []))
    flag(
      '--env',
      ...Object.entries(service.environment ?? {}).map(([key, value]) => `${key}=${value}`),
    )
    flag('--cap-drop', ...(service.cap_drop ?? []))
    flag(
      '--security-opt',
      ...(service.security_opt ?? []).map((option) => option.replace(':true', '')),
    )
    flag('--tmpfs', ...(service.tmpfs ?? []))
    if (service.read_only) args.push('--read-only', '--read-only-tmpfs=false')
    if (service.shm_size) flag('--shm-size', `${service.shm_size}b`)
    if (service.healthcheck)
      args.push('--health-cmd', JSON.stringify(service.healthcheck.test.slice(1)))
    args.push(...limitsOf(service.ulimits?.nofile))
    if (filesLimit(service.ulimits?.nofile ?? 0) < (service.ulimits?.nofile ?? 0))
      this.notes.add(`files limited to ${filesLimit(service.ulimits.nofile)}`)
    for (const { source, target } of service.secrets ?? [])
      flag('--volume', `${this.#folder}/secrets/${source}:${target}:ro`)
    for (const volume of service.volumes ?? []) flag('--volume', this.#mountOf(volume))
    return args
  }

  #mountOf({ type, source, target, read_only: isReadOnly }) {
    if (type === 'volume') return `${this.#nameOf(source)}:${target}`
    const path = this.#withinLimits(source)
    return `${path}:${target}${isReadOnly ? ':ro' : ''}`
  }

  /** HAProxy does not start when it may not open two files for each connection of its maximum. */
  #withinLimits(source) {
    const text = readFileSync(source, 'utf8')
    const most = Math.floor(filesLimit(65_536) / 4)
    const path = join(this.#folder, 'mounted')
    const [, connections = 0] = /maxconn (\d+)/.exec(text) ?? []
    if (connections <= most) return source
    this.notes.add(`maxconn ${most} in place of ${connections}`)
    writeFileSync(path, text.replace(/maxconn \d+/, `maxconn ${most}`), { mode: 0o444 })
    return path
  }

  async #isHealthy(name) {
    const container = this.#nameOf(name)
    const { build, healthcheck } = this.#services[name]
    const has = build !== undefined || healthcheck !== undefined
    await waitFor(
      () => {
        const state = podman('inspect', '--format', '{{.State.Status}}', container).trim()
        must(state === 'running', `${name} is ${state}: ${tryPodman('logs', container).stderr}`)
        return !has || tryPodman('healthcheck', 'run', container).status === 0
      },
      { what: `${name} to be healthy`, timeoutMs: 60_000, everyMs: 300 },
    )
  }

  /** As deploy/secrets.sh, in a folder that all users may enter, as Docker mounts its files. */
  #makeSecrets() {
    copyFileSync(join(deploy, 'secrets.sh'), join(this.#folder, 'secrets.sh'))
    mkdirSync(join(this.#folder, 'secrets'))
    output('sh', [join(this.#folder, 'secrets.sh')])
    const files = Object.values(this.#project.secrets ?? {}).map(({ file }) => file)
    for (const file of files)
      must(file.startsWith(join(deploy, 'secrets/')), `${file} is not made by secrets.sh`)
  }
}
