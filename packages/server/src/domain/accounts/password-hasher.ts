// OWASP Password Storage Cheat Sheet, argon2id: 19 MiB, 2 iterations, 1 lane.
const memoryCostKiB = 19_456
const timeCost = 2
const parallelism = 1

/** argon2id on the thread pool; the module is loaded with the first password. */
export class PasswordHasher {
  #argon2: Promise<typeof import('@node-rs/argon2')> | undefined

  /** @returns a PHC string */
  async hash(password: string): Promise<string> {
    const { hash } = await this.#load()
    return hash(password, { memoryCost: memoryCostKiB, timeCost, parallelism })
  }

  /** False also for a user without a password. */
  async verify(passwordHash: string, password: string): Promise<boolean> {
    if (passwordHash === '') return false
    const { verify } = await this.#load()
    return verify(passwordHash, password)
  }

  #load(): Promise<typeof import('@node-rs/argon2')> {
    this.#argon2 ??= import('@node-rs/argon2')
    return this.#argon2
  }
}
