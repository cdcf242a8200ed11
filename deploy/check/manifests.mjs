/** Checks with the code of Kubernetes, kustomize, Compose and Caddy, which Go compiles. */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { cache, deploy, LeftOut, need, output, run } from './tools.mjs'

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
  ['Caddy', checkCaddyfile],
]

export const composeFiles = ['compose.yaml', 'compose.postgres.yaml', 'compose.cluster.yaml']

/** @returns the file as Compose reads it */
export function compose(name) {
  return JSON.parse(output(manifests(), ['compose', join(deploy, name)]))
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
