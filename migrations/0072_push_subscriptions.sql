-- expand
CREATE TABLE "push_subscriptions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"user_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"endpoint_hash" text NOT NULL,
	"sealed" text NOT NULL,
	"user_agent" text,
	"last_ok_at" timestamp(3) with time zone
);

ALTER TABLE "push_subscriptions" ADD CONSTRAINT "push_subscriptions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "push_subscriptions" ADD CONSTRAINT "push_subscriptions_session_id_login_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."login_sessions"("id") ON DELETE cascade ON UPDATE no action;
CREATE UNIQUE INDEX "push_subscriptions_endpoint" ON "push_subscriptions" USING btree ("endpoint_hash");
CREATE INDEX "push_subscriptions_user" ON "push_subscriptions" USING btree ("user_id");
CREATE INDEX "push_subscriptions_session" ON "push_subscriptions" USING btree ("session_id");
