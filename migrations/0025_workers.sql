ALTER TABLE "events" ADD COLUMN "actor_client" text;
ALTER TABLE "events" ADD COLUMN "actor_for_id" uuid;
ALTER TABLE "events" ADD COLUMN "actor_for_name" text;
ALTER TABLE "sessions" ADD COLUMN "connection" text;
ALTER TABLE "tasks" ADD COLUMN "lease_connection" text;
ALTER TABLE "tasks" ADD COLUMN "lease_closed_at" timestamp(3) with time zone;
ALTER TABLE "tasks" ADD COLUMN "lease_for_id" uuid;
ALTER TABLE "agents" ADD COLUMN "for_id" uuid;
ALTER TABLE "agents" ADD COLUMN "client" text;
ALTER TABLE "agents" ADD CONSTRAINT "agents_for_id_users_id_fk" FOREIGN KEY ("for_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
CREATE INDEX "agents_for" ON "agents" USING btree ("for_id") WHERE "agents"."for_id" is not null;
-- Every MCP token gets an agent. The names that `tutti connect` and `tutti mcp` gave to tokens say where they are used.
WITH "without" AS (
  SELECT t."id", t."organization_id", t."user_id", n."client",
    left(coalesce(n."client", 'Agent') || ' (' || n."place" || ')', 100) AS "name"
  FROM "mcp_tokens" t
  LEFT JOIN "agents" a ON a."id" = t."agent_id" AND a."deleted_at" IS NULL
  CROSS JOIN LATERAL (
    SELECT substring(t."name" from '^(Claude Code|Codex|Cursor|VS Code|Gemini CLI|opencode|Windsurf|Zed) on .') AS "client",
      regexp_replace(t."name", '^(Claude Code|Codex|Cursor|VS Code|Gemini CLI|opencode|Windsurf|Zed|tutti mcp) on (.)', '\2') AS "place"
  ) n
  WHERE a."id" IS NULL AND t."revoked_at" IS NULL
), "made" AS (
  INSERT INTO "agents" ("id", "created_at", "updated_at", "organization_id", "created_by_id", "for_id", "client", "name", "slug", "skills", "memory_scope", "scope")
  SELECT gen_random_uuid(), now(), now(), w."organization_id", w."user_id", w."user_id", w."client", w."name",
    coalesce(nullif(trim(both '-' from left(regexp_replace(lower(w."name"), '[^a-z0-9]+', '-', 'g'), 60)), ''), 'agent')
      || '-' || substr(md5(gen_random_uuid()::text), 1, 6),
    '[]', 'project', 'team'
  FROM (SELECT DISTINCT "organization_id", "user_id", "client", "name" FROM "without") w
  RETURNING "id", "organization_id", "for_id", "name"
)
UPDATE "mcp_tokens" t SET "agent_id" = m."id"
FROM "without" w JOIN "made" m ON m."organization_id" = w."organization_id" AND m."for_id" = w."user_id" AND m."name" = w."name"
WHERE t."id" = w."id";
-- What such a token works on becomes its agent's. Every connection has closed: the server was stopped for this upgrade.
UPDATE "tasks" SET "lease_for_id" = t."user_id", "lease_closed_at" = now(),
  "lease_type" = 'agent',
  "lease_holder_id" = CASE WHEN "lease_type" = 'user' THEN t."agent_id" ELSE "lease_holder_id" END,
  "assignee_type" = CASE WHEN "lease_type" = 'user' AND "assignee_id" = "lease_holder_id" THEN 'agent' ELSE "assignee_type" END,
  "assignee_id" = CASE WHEN "lease_type" = 'user' AND "assignee_id" = "lease_holder_id" THEN t."agent_id" ELSE "assignee_id" END
FROM "mcp_tokens" t
WHERE "lease_credential_id" = t."id" AND "lease_expires_at" IS NOT NULL AND t."agent_id" IS NOT NULL;
UPDATE "sessions" SET "agent_id" = t."agent_id"
FROM "mcp_tokens" t
WHERE "sessions"."credential_id" = t."id" AND "sessions"."agent_id" IS NULL AND t."agent_id" IS NOT NULL;
