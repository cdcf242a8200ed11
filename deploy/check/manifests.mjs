/** Checks with the code of Kubernetes, kustomize, Compose and Caddy, which Go compiles. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cache, deploy, inFolder, LeftOut, must, need, output, root, run } from './tools.mjs'

const caddyVersion = 'v2.11.9'

export const manifestChecks = [
  [
    'Kubernetes',
    () =>
      output(manifests(), ['kubernetes', join(deploy, 'kubernetes')])
        .trim()
        .replaceAll('\n', ', '),
  ],
  [
    'Compose',
    () => composeFiles.map((name) => Object.keys(compose(name).services).length).join(', '),
  ],
  ['Compose, settings of the guide', () => inFolder(checkSettings)],
  ['Caddy', checkCaddyfile],
]

export const composeFiles = ['compose.yaml', 'compose.postgres.yaml', 'compose.cluster.yaml']

/** @returns the file as Compose reads it, with the further ones over it */
export function compose(name, ...further) {
  return JSON.parse(output(manifests(), ['compose', join(deploy, name), ...further]))
}

/** The file with settings of the guide adds to compose.yaml and takes nothing away. */
function checkSettings(folder) {
  const guide = readFileSync(join(root, 'docs/guides/containers.md'), 'utf8')
  const path = join(folder, 'compose.yaml')
  writeFileSync(path, /```yaml\n(.*?)```/s.exec(guide)[1])
  const { environment, volumes, image } = compose('compose.yaml', path).services.hermod
  const targets = volumes.map(({ target }) => target).join(' ')
  must(targets === '/data /backups', `the volumes are ${targets}`)
  must(environment.HERMOD_BACKUP_DIR === '/backups' && image, 'settings are missing')
  return Object.keys(environment).join(', ')
}

/** Builds the command of the folder manifests. @returns its path */
function manifests() {
  needGo()
  const program = join(cache, 'manifests')
  mkdirSync(cache, { recursive: true })
  output('go', ['build', '-o', program, '.'], { cwd: join(deploy, 'check/manifests') })
  return program
}

/** Debian 12 has one that is too old. */
function needGo() {
  need('go')
  const [, minor] = /go1\.(\d+)/.exec(run('go', ['version']).stdout) ?? []
  if (Number(minor) < 26) throw new LeftOut(`Go 1.26 or newer is needed, and this is 1.${minor}`)
}

/** The version of Debian does not know all options of the file. */
function checkCaddyfile() {
  const program = caddy()
  const config = join(deploy, 'proxies/Caddyfile')
  output(program, ['validate', '--adapter', 'caddyfile', '--config', config])
  return caddyVersion
}

/** @returns the path of Caddy, which the first call builds */
function caddy() {
  needGo()
  const folder = join(cache, `caddy-${caddyVersion}`)
  const program = join(folder, 'caddy')
  if (!existsSync(program)) {
    const source = `github.com/caddyserver/caddy/v2/cmd/caddy@${caddyVersion}`
    output('go', ['install', source], { env: { GOBIN: folder } })
  }
  return program
}
