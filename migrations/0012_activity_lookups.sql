DROP INDEX "events_id";
CREATE INDEX "events_by_id" ON "events" USING btree ("id");
CREATE INDEX "events_logged" ON "events" USING btree ("organization_id","type","seq") WHERE "events"."action" = 'activities.log';
