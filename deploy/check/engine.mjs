/** Images by buildah and containers by podman, in a storage apart from that of the machine. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cache, deploy, must, need, needRoot, output, root, run } from './tools.mjs'

const storage = join(cache, 'storage')
const own = ['--root', join(storage, 'root'), '--runroot', join(storage, 'run')]
export const image = 'localhost/hermod:check'
export const nodeMajor = '24'

/** Without systemd nothing runs health checks by itself: the checks do. */
const podmanOptions = [
  ...own,
  ...['--runtime', 'runc', '--cgroup-manager', 'cgroupfs', '--events-backend', 'none'],
  ...['--network-backend', 'netavark', '--network-config-dir', join(storage, 'networks')],
]

/** The most open files that this machine allows a process; Docker allows more. */
const mostFiles = Number(run('sh', ['-c', 'ulimit -Hn']).stdout) || 2 ** 20

/** @returns the limit of open files of a service that asks for so many */
export const filesLimit = (wanted) => Math.min(wanted, mostFiles)

export function needEngine() {
  needRoot()
  need('buildah', 'podman', 'runc', 'conmon', 'mmdebstrap', 'npm')
}

export const buildah = (...args) => output('buildah', [...own, ...args])
export const podman = (...args) => output('podman', [...podmanOptions, ...args])
/** As podman, with the outcome in place of a failure. */
export const tryPodman = (...args) => run('podman', [...podmanOptions, ...args])

/** @param kind the options of base-images.sh after the storage */
export function makeBases(...kind) {
  mkdirSync(storage, { recursive: true })
  output(join(deploy, 'check/base-images.sh'), [storage, ...kind])
}

/** Builds deploy/Dockerfile as it is. The settings of npm are those of this machine. */
export function buildImage() {
  const settings = join(storage, 'npmrc')
  const authorities = output('npm', ['config', 'get', 'cafile']).trim()
  const isOwn = authorities !== 'null' && authorities !== ''
  writeFileSync(settings, `update-notifier=false\n${isOwn ? 'cafile=/run/authorities.crt\n' : ''}`)
  const mounts = ['--volume', `${settings}:/usr/local/etc/npmrc:ro`]
  if (isOwn) mounts.push('--volume', `${authorities}:/run/authorities.crt:ro`)
  const how = ['--isolation', 'chroot', '--format', 'docker', '--pull-never', '--layers']
  return buildah('bud', ...how, ...mounts, '--file', 'deploy/Dockerfile', '--tag', image, root)
}

/** The options of every container: what the compose files take from it, and limits of the machine. */
export function limitsOf(files = 65_536) {
  const most = filesLimit(files)
  return ['--ulimit', `nofile=${most}:${most}`, '--ulimit', 'nproc=4096:4096']
}

/** Makes an Admin token by the command in a container. */
export function createToken(name) {
  const command = ['hermod', 'token', 'create', '--app', 'hermod', '--name', 'backend']
  const printed = podman('exec', name, ...command)
  must(/hma_\w{40}/.test(printed), 'hermod token create printed no token')
}

/** @returns the log of a container, in which no token may be */
export function tokenlessLog(name) {
  const log = podman('logs', name)
  must(!/hm[aou]_/.test(log), `the log of ${name} has a token`)
  return log
}

/** Ends a container by the signal of its image, as `docker stop`. @returns its exit code */
export function stop(name, graceSeconds) {
  podman('stop', '--time', `${graceSeconds}`, name)
  return Number(podman('inspect', '--format', '{{.State.ExitCode}}', name))
}

export function remove(name) {
  tryPodman('rm', '--force', '--time', '0', name)
}
