import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { TempFolder } from '@hermod/testkit'

const root = resolve(import.meta.dirname, '../../../..')
const serverFolder = join(root, 'packages/server')
const noMigrations = 'laterMigrations = {}'
/** Adds a column, with which builds of the first schema still run. */
const madeUp = `laterMigrations = { '002-made-up': { runsWith: 1, async up(db) {
  await db.schema.alterTable('node_shares').addColumn('note', 'text').execute()
} } }`

/** A copy of this build with another migration, as a later release has one. */
export class LaterBuild implements Disposable {
  readonly #folder = new TempFolder('later-build')

  constructor() {
    const { path } = this.#folder
    for (const part of ['assets', 'bin', 'dist', 'package.json'])
      cpSync(join(serverFolder, part), join(path, part), {
        recursive: true,
        preserveTimestamps: true,
      })
    symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'))
    this.#addMigration(join(path, 'dist/bundle'))
  }

  /** The `hermod` script. */
  get command(): string {
    return join(this.#folder.path, 'bin/hermod.js')
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]()
  }

  #addMigration(bundle: string): void {
    const files = readdirSync(bundle)
      .filter((name) => name.endsWith('.js'))
      .map((name) => join(bundle, name))
    const [file, ...others] = files.filter((path) =>
      readFileSync(path, 'utf8').includes(noMigrations),
    )
    if (file === undefined || others.length > 0)
      throw new Error(`one file of the bundle has "${noMigrations}"`)
    writeFileSync(file, readFileSync(file, 'utf8').replace(noMigrations, madeUp))
  }
}
