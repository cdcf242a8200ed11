/** Tickets of uploads, their forms, sizes and quotas. */
import type { UploadTicket } from '@hermod/protocol'
import { type Answer, type Api, type Session, waitFor } from '@hermod/testkit'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { linkText } from '../../dist/domain/files/links/file-links.js'
import { type FileTicket, ticketText } from '../../dist/domain/files/tickets/file-tickets.js'
import { purposeKey } from '../../dist/lib/secrets/secret-keys.js'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { filePlace, filePlaces, ticketKey } from '../support/files/file-place.js'
import { isOnItsWay } from '../support/files/file-stores.js'
import {
  amr,
  blobsIn,
  fetchAs,
  fetchBytes,
  fileTypes,
  formOf,
  pathOf,
  png,
  SlowUpload,
  sendFile,
  ticketFor,
  upload,
  withCredentials,
} from '../support/files/files.js'
import { sessions } from '../support/messaging/messaging.js'

for (const { backend, kind, name } of filePlaces)
  describe.skipIf(kind.missing)(`uploads in ${name}`, () => {
    const place = filePlace(backend, kind)
    const { expectOrder, rows, set, ticketOf, usage } = place
    let api: Api
    let alice: Session
    let bob: Session

    beforeAll(() => {
      api = place.server.api
    })

    beforeEach(async () => {
      ;[alice, bob] = await sessions(place.server, 2)
    })

    describe('a ticket', () => {
      it('is for one file, whichever comes first', async () => {
        const ticket = await ticketOf(alice.api, { to_id: bob.id })
        const texts = ['first', 'second', 'third', 'fourth']
        const answers = await Promise.all(
          texts.map((each) => upload(api, ticket, Buffer.from(each))),
        )
        const winners = texts.filter((_, index) => answers[index]?.code === 200)
        expect(winners.length).toBe(1)
        for (const { code } of answers) expect([200, answerCode.upload_ticket_used]).toContain(code)
        expect(String(await fetchAs(api, bob.token, ticket.download_url))).toBe(winners[0])
        await expectCode(upload(api, ticket, png), 'upload_ticket_used')
        expect(String(await fetchAs(api, bob.token, ticket.download_url))).toBe(winners[0])
        await expectOrder()
      })

      it('that is changed, cut or made with another key opens nothing', async () => {
        const ticket = await ticketOf(alice.api, { to_id: bob.id })
        const text = new URL(ticket.upload_url).searchParams.get('ticket') as string
        const forged = ticketText(purposeKey(Buffer.from('x'), 'file tickets'), aTicket())
        const link = linkText(ticketKey, place.link(alice, bob))
        for (const each of [
          `${text}A`,
          text.slice(1),
          text.slice(0, -1),
          `B${text.slice(1)}`,
          forged,
          link,
          'x',
          '%20',
        ]) {
          const path = `/file/upload?ticket=${each}`
          const answer = await api.call('POST', path, { ...formOf(png), token: null, appId: null })
          expect(answer.code, each).toBe(answerCode.upload_ticket_invalid)
        }
        await expectOrder()
      })

      const aTicket = (changes: Partial<FileTicket> = {}): FileTicket => ({
        appId: place.server.appId,
        fileId: '0'.repeat(26),
        ownerId: alice.id,
        payerId: alice.id,
        credentialEpoch: 0,
        purpose: 0,
        fileType: 100,
        recipient: { type: 'user', id: bob.id },
        maxBytes: 100,
        expiresAt: Date.now() + 60_000,
        ...changes,
      })

      it('ends after its time, with the logins of its user, and with the application', async () => {
        const send = (ticket: FileTicket) =>
          api.call('POST', `/file/upload?ticket=${ticketText(ticketKey, ticket)}`, {
            ...formOf(png),
            token: null,
            appId: null,
          })
        await expectCode(send(aTicket({ expiresAt: Date.now() - 1 })), 'upload_ticket_invalid')
        await expectCode(send(aTicket({ credentialEpoch: 1 })), 'upload_ticket_invalid')
        await expectCode(send(aTicket({ ownerId: 7 })), 'upload_ticket_invalid')
        expect((await send(aTicket({ appId: 'nowhere' }))).code).not.toBe(200)
        expect((await send(aTicket({ fileId: '1'.repeat(26) }))).code).toBe(200)

        const ticket = await ticketOf(alice.api, { to_id: bob.id })
        const slow = new SlowUpload(api, ticket, Buffer.alloc(50_000, 1))
        await alice.api.succeed('POST', '/user/change_password', {
          body: { old_password: alice.password, new_password: 'battery staple' },
        })
        await expectCode(slow.finish(), 'upload_ticket_invalid')
        await expectCode(upload(api, ticket, png), 'upload_ticket_invalid')
        await expectOrder()
      })

      it('ends with its user, also while the file is on its way', async () => {
        const ticket = await ticketOf(alice.api, { to_id: bob.id })
        const slow = new SlowUpload(api, ticket, Buffer.alloc(300_000, 1))
        await alice.api.succeed('POST', '/user/delete', { body: { password: alice.password } })
        await expectCode(slow.finish(), 'upload_ticket_invalid')
        await expectCode(upload(api, ticket, png), 'upload_ticket_invalid')
        await expectOrder()
      })

      it('that is asked for by an Admin token for a user works as one of the user', async () => {
        const admin = api.admin({ userId: alice.id })
        const url = await sendFile(admin, { to_id: bob.id }, png)
        for (const { token } of [alice, bob]) expect(await fetchAs(api, token, url)).toEqual(png)
      })
    })

    describe('an upload', () => {
      const send = async (rawBody: Buffer | string, contentType?: string): Promise<Answer> => {
        const ticket = await ticketOf(alice.api, { to_id: bob.id })
        const { headers } = formOf(png)
        return api.call('POST', pathOf(ticket.upload_url), {
          rawBody,
          headers: contentType === undefined ? headers : { 'content-type': contentType },
          token: null,
          appId: null,
        })
      }
      const whole = formOf(Buffer.from('text'), { fields: { key: 'value' } }).rawBody.toString()
      const filePart = whole.slice(
        whole.lastIndexOf('--boundary-of-the-form\r\n'),
        whole.lastIndexOf('--boundary'),
      )
      const fieldPart = whole.slice(0, whole.indexOf(filePart))
      const end = '--boundary-of-the-form--\r\n'

      it.each<[string, () => string | Buffer, number]>([
        ['without a file', () => fieldPart + end, answerCode.file_missing],
        ['with nothing at all', () => end, answerCode.file_missing],
        ['with two files', () => filePart + filePart + end, answerCode.upload_form_invalid],
        [
          'with a field after the file',
          () => filePart + fieldPart + end,
          answerCode.upload_form_invalid,
        ],
        ['without an end', () => filePart, answerCode.upload_form_invalid],
        ['with a file of 0 bytes', () => formOf(Buffer.alloc(0)).rawBody, answerCode.file_missing],
        [
          'with a name of 300 characters',
          () => formOf(png, { name: 'n'.repeat(300) }).rawBody,
          answerCode.file_name_invalid,
        ],
        [
          'with a control character in the name',
          () => formOf(png, { name: 'a\u0001b' }).rawBody,
          answerCode.file_name_invalid,
        ],
      ])('%s is refused by name, and nothing of it stays', async (_, form, code) => {
        const before = await rows()
        expect((await send(form())).code).toBe(code)
        expect(await rows()).toEqual(before)
        await expectOrder()
      })

      it('that is no form is refused', async () => {
        for (const type of ['application/json', 'multipart/form-data', 'text/plain; boundary=x'])
          expect((await send(whole, type)).code, type).toBe(answerCode.upload_form_invalid)
      })

      it('has the last part of its name, whatever folders it claims', async () => {
        const url = await sendFile(alice.api, { to_id: bob.id }, png, {
          name: '../../../etc/pass wd.png',
        })
        const { headers } = await fetchBytes(withCredentials(api, bob.token, url))
        expect(headers['content-disposition']).toBe('inline; filename="pass wd.png"')
      })

      it('is what it contains, whatever it is called', async () => {
        const page = Buffer.from('<!doctype html><script>alert(1)</script>')
        const drawing = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>')
        for (const content of [page, drawing, Buffer.from('words')]) {
          const url = await sendFile(alice.api, { to_id: bob.id }, content, { name: 'red.png' })
          const { headers } = await fetchBytes(withCredentials(api, bob.token, url))
          expect(headers['content-disposition']).toMatch(/^attachment;/)
          expect(headers).toMatchObject({
            'x-content-type-options': 'nosniff',
            'content-security-policy': "sandbox; default-src 'none'",
          })
        }
      })

      it.each([
        ['words as a picture', fileTypes.picture, Buffer.from('words')],
        ['words as voice', fileTypes.voice, Buffer.from('words')],
        ['words as a video', fileTypes.video, Buffer.from('words')],
        ['a picture as voice', fileTypes.mp3, png],
        ['voice as a picture', fileTypes.picture, amr(1)],
      ])('of %s is refused, and nothing of it stays', async (_, file_type, content) => {
        const ticket = await ticketOf(alice.api, { to_id: bob.id, file_type })
        await expectCode(upload(api, ticket, content, { name: 'red.png' }), 'file_type_invalid')
        expect(await fetchAs(api, bob.token, ticket.download_url)).toBe(answerCode.file_not_found)
        await expectOrder()
        const right = file_type === fileTypes.picture ? png : amr(1)
        if (file_type !== fileTypes.video) await expectCode(upload(api, ticket, right), 'ok')
      })

      it('of words as an avatar is refused', async () => {
        const { data: ticket } = await alice.api.succeed('GET', '/file/upload/avatar/user')
        await expectCode(upload(api, ticket, Buffer.from('words')), 'file_type_invalid')
        await expectOrder()
      })

      it('that is cut leaves nothing, and its ticket works again', async () => {
        const ticket = await ticketOf(alice.api, { to_id: bob.id })
        const slow = new SlowUpload(api, ticket, Buffer.alloc(1_000_000, 7))
        const isArriving = () => blobsIn(place.server.dataDir).some(isOnItsWay)
        await waitFor(isArriving, { what: 'the file on its way', timeoutMs: 10_000 })
        slow.cut()
        await waitFor(() => !isArriving(), { what: 'nothing on its way', timeoutMs: 10_000 })
        expect(await fetchAs(api, bob.token, ticket.download_url)).toBe(answerCode.file_not_found)
        await expectOrder()
        await expectCode(upload(api, ticket, png), 'ok')
      })

      it('is as large as the application allows, and not a byte larger', async () => {
        await set({ file_max_bytes: 1_000 })
        try {
          const before = await rows()
          await sendFile(alice.api, { to_id: bob.id }, Buffer.alloc(1_000, 1))
          const ticket = await ticketOf(alice.api, { to_id: bob.id })
          for (const size of [1_001, 200_000, 3_000_000]) {
            const answer = await upload(api, ticket, Buffer.alloc(size, 1))
            expect([size, answer.status, answer.code]).toEqual([
              size,
              200,
              answerCode.file_too_large,
            ])
          }
          const { files, bytes } = await rows()
          expect({ files, bytes }).toEqual({ files: before.files + 1, bytes: before.bytes + 1_000 })
          await expectOrder()
        } finally {
          await set({ file_max_bytes: 100 * 2 ** 20 })
        }
      })

      it('keeps within the quota of the application, however many come at once', async () => {
        const before = await usage()
        const tickets = await Promise.all(
          Array.from({ length: 12 }, () => ticketOf(alice.api, { to_id: bob.id })),
        )
        await set({ file_quota_bytes: before.bytes + 5_000 })
        try {
          const answers = await Promise.all(
            tickets.map((ticket) => upload(api, ticket, Buffer.alloc(1_000, 1))),
          )
          expect(answers.filter(({ code }) => code === 200).length).toBe(5)
          expect(answers.filter(({ code }) => code === answerCode.file_quota_reached).length).toBe(
            7,
          )
          expect(await usage()).toEqual({ files: before.files + 5, bytes: before.bytes + 5_000 })
          await expectCode(ticketFor(alice.api, { to_id: bob.id }), 'file_quota_reached')
          await expectCode(alice.api.call('GET', '/file/upload/avatar/user'), 'file_quota_reached')
          await expectOrder()
        } finally {
          await set({ file_quota_bytes: 0 })
        }
      })
    })

    describe('an upload beyond the quota of the application', () => {
      const left = 500_000
      let ticket: UploadTicket

      beforeEach(async () => {
        ticket = await ticketOf(alice.api, { to_id: bob.id })
        await set({ file_quota_bytes: (await usage()).bytes + left })
      })

      afterEach(async () => {
        await set({ file_quota_bytes: 0 })
      })

      async function expectNothing(): Promise<void> {
        expect(await fetchAs(api, bob.token, ticket.download_url)).toBe(answerCode.file_not_found)
        await waitFor(() => !blobsIn(place.server.dataDir).some(isOnItsWay), {
          what: 'nothing on its way',
          timeoutMs: 10_000,
        })
        await expectOrder()
      }

      it('is refused before it comes when its length says so', async () => {
        const before = await usage()
        const early = new SlowUpload(api, ticket, Buffer.alloc(left + 1_100_000), 0)
        await expectCode(early.answered, 'file_quota_reached')
        early.cut()
        await expectNothing()
        expect(await usage()).toEqual(before)
      })

      it('is refused as soon as more has come than is left, and its ticket works again', async () => {
        const content = Buffer.alloc(left + 900_000, 1)
        const slow = new SlowUpload(api, ticket, content, 0.6)
        await expectCode(slow.answered, 'file_quota_reached')
        slow.cut()
        await expectNothing()
        await expectCode(upload(api, ticket, content.subarray(0, left + 1)), 'file_quota_reached')
        await expectNothing()
        await expectCode(upload(api, ticket, content.subarray(0, left)), 'ok')
        await expectOrder()
      })

      it('and beyond the size of a file is refused for its size', async () => {
        await set({ file_max_bytes: 1_000 })
        try {
          const early = new SlowUpload(api, ticket, Buffer.alloc(left + 1_100_000), 0)
          await expectCode(early.answered, 'file_too_large')
          early.cut()
          await expectNothing()
        } finally {
          await set({ file_max_bytes: 100 * 2 ** 20 })
        }
      })
    })
  })
