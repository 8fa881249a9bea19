ALTER TABLE "tunnel_sessions" ADD COLUMN "instance_url" text;
