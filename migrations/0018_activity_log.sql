DROP INDEX "events_logged";
CREATE INDEX "events_logged" ON "events" USING btree ("organization_id","type","seq") WHERE "events"."action" in ('activity.log', 'activities.log');
