/** `hermod user` beside a server. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Answer,
  type Backend,
  type Json,
  sharedPassword as password,
  TempFolder,
} from '@hermod/testkit'
import argon2 from '@node-rs/argon2'
import { afterAll, expect } from 'vitest'
import type { SqlRow } from '../database/sql.js'
import { type CommandResult, callHermod } from '../hermod-command.js'
import { type InProcessServer, ownServer } from '../in-process-server.js'

export const cheapHash = argon2.hashSync(password, { memoryCost: 1024, timeCost: 1 })

/** A server, the command beside it, and a folder for files. */
export class UserCommands {
  readonly folder = new TempFolder('commands-user')
  #names = 0

  constructor(readonly server: InProcessServer) {}

  /** Arguments after `hermod user`. */
  run(args: readonly string[], input?: string): Promise<CommandResult> {
    return callHermod(['user', ...args], this.server.settings, input)
  }

  /** The output for scripts of a command that must succeed. */
  async json(args: readonly string[], input?: string): Promise<Json> {
    return printed(await this.run([...args, '--json'], input))
  }

  /** An application of its own, so that tests do not see each other's users; @returns its app_id */
  async newApp(settings: object = {}): Promise<string> {
    const body = { app_id: `app-${++this.#names}` }
    const operator = this.server.api.as(this.server.operatorToken)
    await operator.succeed('POST', '/operator/v1/app/create', { body })
    if (Object.keys(settings).length > 0)
      await operator.succeed('POST', '/operator/v1/app/update', { body: { ...body, settings } })
    return body.app_id
  }

  file(name: string, text: string): string {
    const path = join(this.folder.path, `${++this.#names}-${name}`)
    writeFileSync(path, text)
    return path
  }

  ndjson(users: readonly object[]): string {
    return this.file('users.ndjson', users.map((user) => `${JSON.stringify(user)}\n`).join(''))
  }

  logIn(appId: string, name: string, secret = password): Promise<Answer> {
    return this.server.api.call('POST', '/token/login', {
      appId,
      body: { login_name: name, password: secret },
    })
  }

  async profile(appId: string, name: string): Promise<Json> {
    const { data } = await this.logIn(appId, name)
    return (await this.server.api.as(data.token).succeed('GET', '/user/profile', { appId })).data
  }

  operate(path: string, body: object): Promise<Answer> {
    return this.server.api
      .as(this.server.operatorToken)
      .call('POST', `/operator/v1/user/${path}`, { body })
  }

  sql(statement: string): Promise<SqlRow[]> {
    return this.server.sql.run(statement)
  }

  async storedHash(appId: string, username: string): Promise<string> {
    const [row] = await this.sql(
      `select password_hash from users where app_id = '${appId}' and username = '${username}'`,
    )
    return String(row?.password_hash)
  }
}

/** The commands of a suite, with a server and a folder of its own. */
export function userCommands(backend: Backend): UserCommands {
  const commands = new UserCommands(ownServer(backend, { HERMOD_LOG_LEVEL: 'debug' }))
  afterAll(() => commands.folder[Symbol.dispose]())
  return commands
}

/** The output for scripts of a command that must succeed. */
export function printed(result: CommandResult): Json {
  expect(result).toMatchObject({ code: 0, err: '' })
  return JSON.parse(result.out)
}
