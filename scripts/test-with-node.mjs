#!/usr/bin/env node
/**
 * Runs tests with another version of Node, whose binary comes from the npm registry:
 *
 *   node scripts/test-with-node.mjs 24                          the whole suite node
 * scripts/test-with-node.mjs 26 --project unit           with arguments for Vitest
 *
 * Servers and commands that tests start run on the same version. Run `npm run build` first.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const [version = '', ...args] = process.argv.slice(2)
if (!/^\d+(\.\d+){0,2}$/.test(version)) {
  process.stderr.write(
    'usage: node scripts/test-with-node.mjs <version, such as 24> [options of vitest run]\n',
  )
  process.exit(2)
}
const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'hermod-node', version)
const platform = process.platform === 'win32' ? 'win' : process.platform
const name = `node-${platform}-${process.arch}`
const binary = join(folder, 'node_modules', name, 'bin', 'node')

if (!existsSync(binary))
  run('npm', ['install', '--no-save', '--prefix', folder, `${name}@${version}`])
run(binary, ['--version'])
// Programs that look up Node by name find this one.
const path = `${dirname(binary)}${delimiter}${process.env.PATH}`
run(binary, [join(root, 'scripts', 'test.mjs'), ...args], { ...process.env, PATH: path })

function run(program, parameters, env = process.env) {
  const { status, error } = spawnSync(program, parameters, { cwd: root, stdio: 'inherit', env })
  if (error) process.stderr.write(`${program}: ${error.message}\n`)
  if (status !== 0) process.exit(status ?? 1)
}
