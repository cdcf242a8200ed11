/** The signals that stop the service, and its output when the reader of the output has stopped. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { startServer, TempFolder } from '@hermod/testkit'
import { describe, expect, test } from 'vitest'
import { hermodEnvironment, hermodScript } from '../support/hermod-command.js'

describe.concurrent('a stop', () => {
  test('SIGTERM: ends the service although nothing reads its log, and calls are answered until then', async () => {
    using folder = new TempFolder('unread')
    const settings = {
      HERMOD_DATA_DIR: folder.path,
      HERMOD_PORT: '0',
      HERMOD_LOG_LEVEL: 'debug',
      HERMOD_RATE_LIMIT: 'off',
    }
    const child = spawn(process.execPath, [hermodScript, 'serve'], {
      env: hermodEnvironment(settings),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    try {
      let output = ''
      for (let url: string | undefined; url === undefined; ) {
        output += (await once(child.stdout, 'data'))[0]
        url = /"url":"([^"]+)".*"listening"/.exec(output)?.[1]
      }
      child.stdout.pause()
      const [, url = ''] = /"url":"([^"]+)"/.exec(output) ?? []
      // Each call is a line of 8 KB, so that the pipe and the lines that may wait become full.
      const headers = { app_id: 'x'.repeat(8_000) }
      for (let calls = 0; calls < 250; calls++) {
        const answer = await fetch(`${url}/message/unread`, { headers })
        expect((await answer.json()) as object).toHaveProperty('code')
      }
      child.kill('SIGTERM')
      expect(await exited).toEqual([0, null])
    } finally {
      child.kill('SIGKILL')
    }
  })

  test('SIGHUP: stops the service in order; SIGUSR1 before it opens no debugger', async (test) => {
    const server = await startServer({ test })
    server.signal('SIGUSR1')
    await server.api.newSession()
    server.signal('SIGHUP')
    expect(await server.exited).toEqual({ code: 0, signal: null })
    expect(server.output()).toContain('"stopped"')
    expect(server.output()).not.toMatch(/debugger|inspector/i)
  })
})
