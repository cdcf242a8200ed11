import { type Kysely, type Migration, sql } from '../kysely.js'

/** Push tokens have one owner, so they are looked up at each change. A partial index would not serve a parameter. */
export const pushTokenOwners: Migration = {
  async up(db: Kysely<never>): Promise<void> {
    for (const statement of [
      'drop index devices_push_token',
      'create index devices_push_token on devices (app_id, push_token)',
      'create index user_settings_push_token on user_settings (app_id, push_token)',
    ])
      await sql.raw(statement).execute(db)
  },
}
