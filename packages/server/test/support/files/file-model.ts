/** A simple model of which files there are: those that something names, and those that are young. */
import type { Api, Session } from '@hermod/testkit'
import { sendToGroup } from '../groups/group-messaging.js'
import { aGroup, groupCall } from '../groups/groups.js'
import { operate, recall } from '../messaging/message-operations.js'
import { sendText } from '../messaging/messaging.js'
import type { Random } from '../random.js'
import type { WatchedServer } from '../watched-server.js'
import { followed, keepUp, keepUpInSteps } from './file-upkeep.js'
import { fileIdOf, png, sendFile, signOf, targets, upload } from './files.js'

interface Message {
  readonly sender: Session
  /** The other user, or the group. */
  readonly place: number
  readonly isInGroup: boolean
  readonly id: number
  readonly fileIds: readonly string[]
}

interface Shared {
  readonly id: number
  readonly fileId: string
}

const password = 'correct horse'
const users = 4
/** After so many hours a file has to be named. */
const dayHours = 24

/** Does at random what users do with files, and knows what must be there afterwards. */
export class FileModel {
  /** Sizes by file ID. */
  readonly #files = new Map<string, number>()
  /** An address for each file that was ever there, and who may pass it on. */
  readonly #urls: { readonly url: string; readonly owner: Session }[] = []
  #messages: Message[] = []
  #shared: Shared[] = []
  /** By user or group; a file ID. */
  readonly #avatars = new Map<number, string>()
  #count = 0

  private constructor(
    private readonly watched: WatchedServer,
    private readonly random: Random,
    private readonly people: Session[],
    private group: number,
  ) {}

  static async start(watched: WatchedServer, random: Random): Promise<FileModel> {
    const people: Session[] = []
    for (let count = 0; count < users; count++) people.push(await watched.api.newSession())
    const [owner, ...members] = people as [Session, ...Session[]]
    return new FileModel(watched, random, people, await aGroup(owner, { members }))
  }

  /** One thing at random. */
  async step(): Promise<void> {
    const { random } = this
    const steps: [number, () => Promise<void>][] = [
      [8, () => this.#upload()],
      [8, () => this.#send()],
      [3, () => this.#recall()],
      [2, () => this.#edit()],
      [3, () => this.#setAvatar()],
      [2, () => this.#share()],
      [1, () => this.#unshare()],
      [2, () => this.#forward()],
      [1, () => this.#deleteFile()],
      [0.5, () => this.#replaceUser()],
      [0.3, () => this.#replaceGroup()],
      [0.4, () => this.#killServer()],
      [0.6, () => keepUp(this.watched.place, dayHours - 1)],
    ]
    let chance = random.next() * steps.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, step] of steps) {
      chance -= weight
      if (chance < 0) return step()
    }
  }

  /**
   * Maintenance more than a day later: what nothing names goes, and nothing that is named after the
   * first look.
   */
  async keepUp(): Promise<void> {
    // After a kill the consumer waits for its turn.
    await this.#send()
    await followed(this.watched.sql)
    await keepUpInSteps(this.watched.place, dayHours + 1, async (looks) => {
      if (looks === 0)
        for (let left = this.random.integer(0, 3); left > 0; left--) await this.#send()
    })
    const named = new Set([
      ...this.#messages.flatMap(({ fileIds }) => fileIds),
      ...this.#shared.map(({ fileId }) => fileId),
      ...this.#avatars.values(),
    ])
    for (const fileId of this.#files.keys()) if (!named.has(fileId)) this.#files.delete(fileId)
  }

  expected() {
    const files = [...this.#files].sort(([a], [b]) => (a < b ? -1 : 1))
    const bytes = files.reduce((sum, [, size]) => sum + size, 0)
    return { files, usage: { files: files.length, bytes } }
  }

  async stored(): Promise<ReturnType<FileModel['expected']>> {
    const { sql } = this.watched
    const rows = await sql.run('select file_id, size from files order by file_id')
    const [usage] = await sql.run('select files, bytes from file_usage')
    return {
      files: rows.map(({ file_id, size }) => [String(file_id), Number(size)]),
      usage: { files: Number(usage?.files ?? 0), bytes: Number(usage?.bytes ?? 0) },
    }
  }

  /** The caller with the token of the session, at the server that runs now. */
  #api({ token }: Session): Api {
    return this.watched.api.as(token)
  }

  #someone(): Session {
    return this.random.pick(this.people)
  }

  async #upload(): Promise<void> {
    const owner = this.#someone()
    if (this.random.chance(0.3)) return this.#uploadAvatar(owner)
    const isInGroup = this.random.chance(0.5)
    const to = isInGroup
      ? { to_id: this.group, to_type: targets.group }
      : { to_id: this.#someone().id, to_type: targets.user }
    const content = Buffer.from(`file ${this.#count++}`.repeat(this.random.integer(1, 50)))
    this.#note(owner, await sendFile(this.#api(owner), to, content), content.length)
  }

  async #uploadAvatar(owner: Session): Promise<void> {
    const { data: ticket } = await this.#api(owner).succeed('GET', '/file/upload/avatar/user')
    await upload(this.#api(owner), ticket, png)
    this.#note(owner, ticket.download_url, png.length)
  }

  #note(owner: Session, url: string, size: number): void {
    this.#urls.push({ url, owner })
    this.#files.set(fileIdOf(url), size)
  }

  /** Of a file that may be gone. */
  #someUrl(): string | null {
    return this.#urls.length === 0 ? null : this.random.pick(this.#urls).url
  }

  async #send(): Promise<void> {
    const urls = [this.#someUrl(), this.#someUrl()].filter((url) => url !== null)
    const attachment = JSON.stringify(urls.slice(0, this.random.integer(1, 2)))
    const fileIds = urls.filter((url) => attachment.includes(url)).map(fileIdOf)
    const sender = this.#someone()
    const isInGroup = this.random.chance(0.4)
    const place = isInGroup ? this.group : this.#someone().id
    const id = isInGroup
      ? await sendToGroup(this.#api(sender), place, 'x', { attachment })
      : await sendText(this.#api(sender), place, 'x', { attachment })
    this.#messages.push({ sender, place, isInGroup, id, fileIds })
  }

  #ofPresent(): Message[] {
    return this.#messages.filter(
      ({ sender, place, isInGroup }) =>
        this.people.includes(sender) &&
        (isInGroup ? place === this.group : this.people.some(({ id }) => id === place)),
    )
  }

  async #recall(): Promise<void> {
    const present = this.#ofPresent()
    if (present.length === 0) return
    const message = this.random.pick(present)
    const answer = await recall(this.#api(message.sender), message.place, message.id)
    if (answer.code === 200) this.#messages = this.#messages.filter((each) => each !== message)
  }

  async #edit(): Promise<void> {
    const direct = this.#ofPresent().filter(({ isInGroup }) => !isInGroup)
    if (direct.length === 0) return
    const { sender, place, id } = this.random.pick(direct)
    const content = this.#someUrl() ?? 'x'
    await operate(this.#api(sender), 'replace', { peer: place, message: id, content })
  }

  async #setAvatar(): Promise<void> {
    const url = this.#someUrl()
    const avatar = url === null || this.random.chance(0.2) ? '' : url
    const text = avatar !== '' && this.random.chance(0.5) ? fileIdOf(avatar) : avatar
    const owner = this.people[0] as Session
    const isOfGroup = this.random.chance(0.3)
    const user = this.#someone()
    if (isOfGroup)
      await this.#api(owner).succeed('POST', '/group/info/avatar', {
        body: { group_id: this.group, value: text },
      })
    else await this.#api(user).succeed('POST', '/user/avatar', { body: { avatar: text } })
    const holder = isOfGroup ? this.group : user.id
    if (avatar === '') this.#avatars.delete(holder)
    else this.#avatars.set(holder, fileIdOf(avatar))
  }

  async #share(): Promise<void> {
    const url = this.#someUrl()
    if (url === null) return
    const what = { name: 'file', size: 1, url }
    const answer = await groupCall(
      this.#api(this.#someone()),
      '/group/file/upload',
      this.group,
      what,
    )
    this.#shared.push({ id: answer.envelope.data.file_id, fileId: fileIdOf(url) })
  }

  async #unshare(): Promise<void> {
    if (this.#shared.length === 0) return
    const gone = this.random.pick(this.#shared)
    const owner = this.#api(this.people[0] as Session)
    await groupCall(owner, '/group/file/delete', this.group, { file_list: [gone.id] })
    this.#shared = this.#shared.filter((each) => each !== gone)
  }

  async #forward(): Promise<void> {
    const owned = this.#urls.filter(({ owner }) => this.people.includes(owner))
    if (owned.length === 0) return
    const { url, owner } = this.random.pick(owned)
    const query = { file_sign: signOf(url), to_id: this.#someone().id, to_type: targets.user }
    const answer = await this.#api(owner).call('GET', '/file/upload/forward', { query })
    if (answer.code === 200) this.#urls.push({ url: answer.envelope.data, owner })
  }

  async #deleteFile(): Promise<void> {
    if (this.#files.size === 0) return
    const file_id = this.random.pick([...this.#files.keys()])
    const { server } = this.watched
    await server.api
      .as(server.operatorToken)
      .succeed('POST', '/operator/v1/file/delete', { body: { app_id: server.appId, file_id } })
    this.#files.delete(file_id)
  }

  /** The first is the owner of the group, who stays. */
  async #replaceUser(): Promise<void> {
    const place = this.random.integer(1, users - 1)
    const gone = this.people[place] as Session
    await this.#api(gone).succeed('POST', '/user/delete', { body: { password } })
    this.#avatars.delete(gone.id)
    const next = await this.watched.api.newSession()
    this.people[place] = next
    const owner = this.#api(this.people[0] as Session)
    await groupCall(owner, '/group/admin/member_join', this.group, { user_list: [next.id] })
  }

  /** Messages of the dissolved one stay. */
  async #replaceGroup(): Promise<void> {
    const [owner, ...members] = this.people as [Session, ...Session[]]
    await groupCall(this.#api(owner), '/group/destroy', this.group)
    this.#avatars.delete(this.group)
    this.#shared = []
    this.group = await aGroup({ api: this.#api(owner) }, { members })
  }

  async #killServer(): Promise<void> {
    await this.watched.crash()
    await this.watched.startAgain()
  }
}
