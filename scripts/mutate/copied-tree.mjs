/** A copy of the working tree in a temporary folder, so that faults do not affect the original. */
import { execFileSync, spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const built = ['dist', 'tsconfig.tsbuildinfo']

export class CopiedTree {
  #running = null

  /**
   * @param {string} root the tree to copy: files in git and new ones, build output, and links to
   * node_modules
   */
  constructor(root) {
    this.path = mkdtempSync(join(tmpdir(), 'hermod-mutate-'))
    const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
      cwd: root,
    })
    for (const file of listed.toString().split('\0')) if (file !== '') this.#copy(root, file)
    const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)
    for (const folder of [...packages, 'bench'])
      for (const name of built) this.#copy(root, join(folder, name))
    this.#linkModules(root)
  }

  #copy(root, file) {
    if (!existsSync(join(root, file))) return
    mkdirSync(dirname(join(this.path, file)), { recursive: true })
    cpSync(join(root, file), join(this.path, file), { recursive: true, preserveTimestamps: true })
  }

  /** Links the packages of the repository to the copy; all others are shared. */
  #linkModules(root) {
    const modules = join(this.path, 'node_modules')
    mkdirSync(join(modules, '@hermod'), { recursive: true })
    for (const name of readdirSync(join(root, 'node_modules')))
      if (name !== '@hermod' && !name.startsWith('.vite'))
        symlinkSync(join(root, 'node_modules', name), join(modules, name))
    for (const name of readdirSync(join(root, 'node_modules/@hermod')))
      cpSync(join(root, 'node_modules/@hermod', name), join(modules, '@hermod', name), {
        verbatimSymlinks: true,
      })
  }

  read(file) {
    return readFileSync(join(this.path, file), 'utf8')
  }

  write(file, text) {
    writeFileSync(join(this.path, file), text)
  }

  has(file) {
    return existsSync(join(this.path, file))
  }

  /**
   * @returns {Promise<{ code: number | null, output: string }>} code null: it took too long, and
   * was ended with its children
   */
  run(program, args, timeoutMs, env = process.env) {
    return new Promise((resolve) => {
      const child = spawn(program, args, {
        cwd: this.path,
        env,
        detached: true,
        stdio: 'pipe',
      })
      this.#running = child
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text) => {
          output += text
        })
      let isLate = false
      const timer = setTimeout(() => {
        isLate = true
        this.#end(child)
      }, timeoutMs)
      child.on('close', (code) => {
        clearTimeout(timer)
        this.#running = null
        resolve({ code: isLate ? null : (code ?? 1), output })
      })
    })
  }

  remove() {
    if (this.#running) this.#end(this.#running)
    rmSync(this.path, { recursive: true, force: true })
  }

  #end({ pid }) {
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // It has already ended.
    }
  }
}
