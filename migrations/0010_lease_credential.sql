ALTER TABLE "tasks" ADD COLUMN "lease_credential_id" uuid;
CREATE INDEX "events_agent" ON "events" USING btree ("actor_id","seq") WHERE "events"."actor_kind" = 'agent';
CREATE INDEX "events_id" ON "events" USING brin ("id");
CREATE INDEX "tasks_position" ON "tasks" USING btree ("project_id","position","id");
CREATE INDEX "tasks_lease_credential" ON "tasks" USING btree ("lease_credential_id") WHERE "tasks"."lease_credential_id" is not null;
