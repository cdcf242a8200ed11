/** scrypt at its full cost, paid once for each passphrase and salt: tests derive one key dozens of times. */
import crypto, { type ScryptOptions } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

type Derived = Parameters<typeof crypto.scrypt>[4]

/** Remembers the keys of this process until it is disposed of. */
export class RememberedScrypt implements Disposable {
  readonly #original = crypto.scrypt
  readonly #keys = new Map<string, Buffer>()

  constructor() {
    const scrypt = (
      password: crypto.BinaryLike,
      salt: crypto.BinaryLike,
      length: number,
      options: ScryptOptions,
      done: Derived,
    ) => {
      const name = JSON.stringify([password, salt, length, options])
      const known = this.#keys.get(name)
      if (known) return void setImmediate(done, null, Buffer.from(known))
      this.#original(password, salt, length, options, (error, key) => {
        if (!error) this.#keys.set(name, Buffer.from(key))
        done(error, key)
      })
    }
    replace(Object.assign(scrypt, this.#original))
  }

  [Symbol.dispose](): void {
    replace(this.#original)
  }
}

function replace(scrypt: typeof crypto.scrypt): void {
  crypto.scrypt = scrypt
  // Modules that import it by its name see the change.
  syncBuiltinESMExports()
}
